// Keys for comparing two pyrender texts line by line independently of node names.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace tgc {

// Returns one key per line of the text: a hash of the line with each name replaced by the key of the line that defines
// it. Two lines with equal keys build the same node. Inserting a node changes no key of an unrelated line.
std::vector<uint64_t> graph_line_keys(std::string_view pyrender_text);

}  // namespace tgc
