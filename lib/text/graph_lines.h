// Keys for comparing two pyrender texts line by line independently of node names.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace tgc {

// Returns one key per line of the text: a hash of the line, in which each name is replaced by the key of the line that
// defines the name. Lines with equal keys build equal nodes. The key of a line depends only on its node's subgraph.
std::vector<uint64_t> graph_line_keys(std::string_view pyrender_text);

}  // namespace tgc
