// Who is to blame when the graph is right in REF after every stage, and the device computes something else: the
// renderer that printed the source, the compiler that compiled it, or the device.
#pragma once
#include "lib/session/blame/failing_run.h"

namespace tgc {

// `list` is what the device ran; the report gets the verdict. Of sources for this computer's CPU:
//   compiler  the same source is right without LLVM's optional passes, then the pass is named; or when the other
//             compiler compiles it
//   renderer  the source is wrong however it is compiled, and the other renderer's is right, or the same kernel whose
//             vectors are loaded or stored element by element; the first node that is printed wrongly is named with its
//             lines, where its value can be stored in the result's place
//   device    neither
void blame_below(FailingRun& run, std::span<const UOp> list, const Outcome& failed, BisectReport& report);

}  // namespace tgc
