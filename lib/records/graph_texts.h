// Finds graphs in a text that has several graphs, or other lines around them: reprs one after another, the fences of a
// Markdown file, and what a program prints at DEBUG=5 (the AST of each kernel) and DEBUG=6 (the list of each kernel).
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "lib/records/read_graph.h"

namespace tgc {

// The text of one graph: bytes `begin` to `end` of a larger text. Begins at the begin of a line, or behind a progress
// bar.
struct GraphText {
  InputKind kind;
  size_t begin, end;

  // Returns the graph's text below as many empty lines as there are lines above it, so that errors name its lines.
  std::string of(std::string_view text) const;
};

struct GraphTexts {
  std::vector<GraphText> graphs;
  bool others = false;  // true if the text has other lines than graphs, blank lines and comments
};

// Returns the graphs in `text`; none if `text` is one graph and nothing else, or if no graph is found.
GraphTexts find_graph_texts(std::string_view text);

}  // namespace tgc
