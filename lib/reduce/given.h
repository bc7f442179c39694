// Where a reduction begins: the case as it was given.
#pragma once
#include "lib/compilation/loaded.h"
#include "lib/reduce/specimen.h"
#include "lib/session/session.h"
#include "lib/session/trial.h"

namespace tgc {

// The graph of `in` in a Graph of its own, with its target, opts, fault and every array that it reads: what `spec` or a
// bundle gives, else drawn. `runs_nowhere`: its texts alone matter. Throws Failure: a linear list, a device or a target
// that is not known, arrays that do not fit.
Specimen given_case(const Session& session, Loaded& in, const TrialSpec& spec, bool runs_nowhere);

}  // namespace tgc
