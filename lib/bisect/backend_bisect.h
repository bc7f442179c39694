// Who is to blame when the graph is right in REF after every stage, and the device computes something else: the
// renderer that printed the source, the compiler that compiled it, or the device.
#pragma once
#include "lib/bisect/failure_repro.h"

namespace tgc {

// `list` is what the device ran; the report gets the verdict. Of sources for this computer's CPU:
//   compiler  the same source is right without LLVM's optional passes, then the pass is named; or when the other
//             compiler compiles it
//   renderer  the source is wrong however it is compiled, and the other renderer's is right, or the same kernel whose
//             vectors are loaded or stored element by element; the node that is printed wrongly is named with its
//             lines, where one is known (first_wrong_node.h)
//   device    neither
void blame_below(FailureRepro& run, std::span<const UOp> list, const Outcome& failed, BisectReport& report);

// Who is to blame for a kernel that is refused, where no rewrite is: the renderer, which refuses it or prints a source
// that does not compile; the compiler, when another one takes that source, or when it dies or does not end; REF
// (device). An empty list: a stage refuses it, and who is to blame is unresolved. Throws Failure when it is refused for
// what it might do (check_custom), or there is no compiler.
void blame_refusal(FailureRepro& run, std::span<const UOp> list, const Outcome& refused, BisectReport& report);

}  // namespace tgc
