// Reads and writes graphs as JSON, tgc's own versioned and lossless format: every field of every node with its exact
// type. README.md describes it.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/result.h"
#include "lib/text/graph_info.h"
#include "lib/text/source_position.h"
#include "lib/uop/graph.h"

namespace tgc {

class JsonScanner;

struct GraphFile {
  GraphInfo info;
  UOp root;
  std::vector<UOp> list;  // nodes of a linear list in order; empty for a graph
};

// graph_to_json and list_to_json return the JSON text, one node per line, with a final newline.
std::string graph_to_json(UOp root, const GraphInfo& info = {});
std::string list_to_json(std::span<const UOp> list, const GraphInfo& info = {});

// Parses the JSON of a graph. `file` is the name of the input in messages, which have line and column. `places`
// receives the positions of the nodes in the text.
Result<GraphFile> graph_from_json(Graph& graph, std::string_view text, std::string_view file = {},
                                  Places* places = nullptr);
// Parses the graph that begins at the current position of `in`, within a larger text. `in` is passed by
// value, so the caller's scanner stays where it is.
Result<GraphFile> graph_from_json(Graph& graph, JsonScanner in, Places* places = nullptr);

// Writes a growing graph as lines: one line per node, each node once. Used by trace files. A line is a node with its
// id, {"id":17,"op":...}, in the format above; its sources are the numbers of earlier lines.
class JsonNodeWriter {
 public:
  explicit JsonNodeWriter(Graph& graph);
  ~JsonNodeWriter();
  // Appends a line for every node under `u` that has no line yet. Returns the number of u's line.
  int64_t add(UOp u, std::string& out);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};
class JsonNodeReader {
 public:
  JsonNodeReader(Graph& graph, std::string file);
  ~JsonNodeReader();
  // Parses line number `line` of the file; returns its node and the id stored in it. Throws Failure.
  std::pair<UOp, int64_t> add(std::string_view text, uint32_t line);
  size_t size() const;
  UOp at(size_t number) const;  // the node of line `number`; requires number < size()

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tgc
