// Which rules were ever hit in this process: what the tests leave out.
#pragma once
#include "lib/rewrite/rules.h"

namespace tgc {

// Whether the rule has made a node of another since the process began.
bool was_hit(const Rule& rule);

}  // namespace tgc
