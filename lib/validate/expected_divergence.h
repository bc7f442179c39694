// Known reasons why a device computes something else than REF although the kernel's text is tinygrad's. Reports name
// them beside a difference.
#pragma once
#include <string>
#include <vector>

#include "lib/runtime/compare.h"
#include "lib/uop/uop.h"

namespace tgc {

// Returns the reason in the kernel `root` that explains the differences in `arrays`; empty if none is known. `renderer`
// is that of the device ("CLANG").
std::string expected_divergence(UOp root, const std::vector<Comparison>& arrays, const std::string& renderer);

}  // namespace tgc
