// Why a device may compute something else than REF though the kernel's text is tinygrad's: what the report says beside
// a difference.
#pragma once
#include <string>
#include <vector>

#include "lib/runtime/compare.h"
#include "lib/uop/uop.h"

namespace tgc {

// The cause in the kernel `root` that explains what differs in `arrays`; empty when none is known. `renderer` is that
// of the device ("CLANG").
std::string expected_divergence(UOp root, const std::vector<Comparison>& arrays, const std::string& renderer);

}  // namespace tgc
