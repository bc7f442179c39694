// Bisects the compilation of a kernel that another tinygrad release made and recorded.
#pragma once
#include "lib/bisect/bisect.h"

namespace tgc {

// `in` is the imported AST of a kernel record. Compares every recorded stage, the linear list and, on its device, the
// recorded source with the AST in REF, for the inputs of `options` or for several draws. Returns the first rewrite that
// makes the kernel compute something else, by tinygrad's file and line; Renderer, Compiler or Device if only the source
// is wrong; Unresolved with the first wrong stage if the rewrite was not found; Same if all are right. Fills counts,
// device and failure of `report`. Throws Failure if the AST cannot be run.
Verdict bisect_recorded(const Session& session, InputGraph& in, const RunOptions& options, BisectReport& report);

}  // namespace tgc
