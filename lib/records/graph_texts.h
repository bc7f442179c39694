// Finds graphs in a text that has several graphs, or other lines around a graph. Examples are reprs one after another,
// fenced code of a Markdown file, and the output of a program at DEBUG=5 (the AST of each kernel) or DEBUG=6 (the list
// of each kernel).
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "lib/records/read_graph.h"

namespace tgc {

// The text of one graph: bytes `begin` to `end` of a larger text. The graph begins at the beginning of a line, or after
// a progress bar.
struct GraphText {
  InputKind kind;
  size_t begin, end;

  // Returns the graph's text below as many empty lines as `text` has lines above the graph, so that errors name the
  // right lines.
  std::string padded_text(std::string_view text) const;
};

struct GraphTexts {
  std::vector<GraphText> graphs;
  bool has_other_lines = false;  // true if the text has lines other than graphs, blank lines and comments
};

// Returns the graphs in `text`. Returns no graphs if none is found, or if `text` as a whole is the text of one graph.
GraphTexts find_graph_texts(std::string_view text);

}  // namespace tgc
