// Finds graphs in a text that has several, or other lines around them, such as the output of a program at DEBUG=5.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "lib/records/read_graph.h"

namespace tgc {

// The text of a graph: bytes `begin` to `end` of a larger text. It begins a line, or follows a progress bar.
struct GraphText {
  InputKind kind;
  size_t begin, end;

  // Returns the graph's text after one empty line for each line above it in `text`, so that errors name the right
  // lines.
  std::string padded_text(std::string_view text) const;
};

struct FoundGraphTexts {
  std::vector<GraphText> graph_texts;
  bool has_other_lines = false;  // lines other than graphs, blank lines and comments
};

// Returns no graphs if none is found, or if `text` as a whole is the text of one graph.
FoundGraphTexts find_graph_texts(std::string_view text);

}  // namespace tgc
