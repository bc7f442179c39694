// A rewrite that does not end, or whose graph is only deep.
#pragma once
#include "lib/session/blame/failing_run.h"
#include "lib/session/blame/rewrites.h"

namespace tgc {

// The rewrites of one turn, the last one: back to where the node that it rewrites was rewritten before; of nodes that
// grow, the shortest list of rules that the end of the trace repeats three times.
std::span<const Application> last_turn(std::span<const Application> all);

// Whether `refused` says that a rewrite does not end. With a higher REWRITE_STACK_LIMIT it may: then its graph is only
// deep, and the report says how deep and where. Else it names the cycle: the rules that take turns, with their graphs.
bool blame_endless(FailingRun& run, const RewriteBlame& rewrites, const Outcome& refused, BisectReport& report);

}  // namespace tgc
