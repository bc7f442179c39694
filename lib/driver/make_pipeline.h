// Which pipeline an input has (Session::pipeline makes it).
#pragma once
#include "lib/driver/session.h"

namespace tgc {

// Returns whether tgc's own stages compile `in`, which a Source returned, so that its pipeline will have
// Ability::Compile. They do not if a live pipeline compiles it; if it is of another release, unless it was imported for
// over.native; if over.recorded is set and it has a record; or if it is the result of a stage that tgc does not have.
bool compiles(const Session& session, const InputGraph& in);

}  // namespace tgc
