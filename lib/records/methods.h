// The Tensor methods that made the nodes of a recorded graph.
#pragma once
#include <string_view>
#include <vector>

#include "lib/records/golden.h"

namespace tgc {

// Parses GoldenRecord::made_by, a JSON list of methods with the numbers of their nodes. Returns no methods for "".
// Throws Failure if the text is malformed.
std::vector<GoldenMetadata> read_methods(std::string_view json);

}  // namespace tgc
