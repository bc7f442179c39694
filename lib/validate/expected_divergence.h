// Explains known differences: reasons why a device stores other values than REF although the kernel is the same as
// tinygrad's. Reports show the reason next to the difference.
#pragma once
#include <string>
#include <vector>

#include "lib/runtime/compare.h"
#include "lib/uop/uop.h"

namespace tgc {

// Returns the known reason for the differences in `arrays`, which the kernel `root` stored; empty if there is none.
// `renderer` is the name of the device's renderer ("CLANG").
std::string expected_divergence(UOp root, const std::vector<Comparison>& arrays, const std::string& renderer);

}  // namespace tgc
