// Graphs as JSON, a format of our own: versioned, and lossless (every field of every node, with its very type).
// README.md describes it.
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
  std::vector<UOp> list;  // of a linear list: its nodes in order; else empty
};

// One node a line; with a final newline.
std::string graph_to_json(UOp root, const GraphInfo& info = {});
std::string list_to_json(std::span<const UOp> list, const GraphInfo& info = {});

// `file` names the input in messages, which carry line and column; `places` receives where nodes stand.
Result<GraphFile> graph_from_json(Graph& graph, std::string_view text, std::string_view file = {},
                                  Places* places = nullptr);
// The graph that comes next in a larger text, which `in` is at; `in` itself stays where it is.
Result<GraphFile> graph_from_json(Graph& graph, JsonScanner in, Places* places = nullptr);

// A graph that grows, as lines of nodes, each written once: what trace files are made of. A line is the node as above
// with its id,
// {"id":17,"op":...}; its sources are the numbers of lines before.
class JsonNodeWriter {
 public:
  explicit JsonNodeWriter(Graph& graph);
  ~JsonNodeWriter();
  // Appends a line for every node under `u` that has none yet, and returns the number of u's line.
  int64_t add(UOp u, std::string& out);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};
class JsonNodeReader {
 public:
  JsonNodeReader(Graph& graph, std::string file);
  ~JsonNodeReader();
  // The node of a line, the number `line` of the file, and the id it had. Throws Failure.
  std::pair<UOp, int64_t> add(std::string_view text, uint32_t line);
  size_t size() const;
  UOp at(size_t number) const;  // the node of a line, by its number; below size()

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tgc
