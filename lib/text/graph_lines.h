// Keys for comparing two pyrender texts line by line independently of node names.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace tgc {

// Returns one key per line: a hash of the line with each name replaced by the key of its definition. Equal keys mean
// that two lines build the same node, so inserting a node does not make all later lines differ.
std::vector<uint64_t> graph_line_keys(std::string_view pyrender_text);

}  // namespace tgc
