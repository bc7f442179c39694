// Renderers: the text of a kernel from its linear list, for each target (tinygrad renderer/*.py: cstyle, wgsl, llvmir, ptx).
#pragma once
#include <span>
#include <string>

#include "lib/target/target.h"
#include "lib/uop/uop.h"

namespace tgc {

// The source that tinygrad prints for `list` (what linear_list gives) and that target. A node that the renderer cannot express, by its op
// or its dtype, gives a Diag that names both.
Result<std::string> render_source(const Target& target, std::span<const UOp> list);

}  // namespace tgc
