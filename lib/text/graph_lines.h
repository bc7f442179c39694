// Keys by which two pyrender texts are compared line by line, whatever their nodes are called.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace tgc {

// A key per line: of what the line says, with each name replaced by what it stands for. So two lines have equal keys
// exactly when they build the same node, and inserting a node does not make every later line differ.
std::vector<uint64_t> graph_line_keys(std::string_view pyrender_text);

}  // namespace tgc
