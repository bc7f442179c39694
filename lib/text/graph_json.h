// Reads and writes graphs as JSON, tgc's own versioned format, which loses no information. README.md describes it.
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
  UOp root;               // for a linear list, its last node
  std::vector<UOp> list;  // the nodes of a linear list in order; empty for a graph
};

// Return the JSON text, one node per line, with a final newline; list_to_json() returns "" for an empty list.
std::string graph_to_json(UOp root, const GraphInfo& info = {});
std::string list_to_json(std::span<const UOp> list, const GraphInfo& info = {});

// Sets the release of `graph` to that of the JSON's producer. Fails for malformed JSON; errors name `file`, line and
// column. `places`, if not null, receives the position of each node.
Result<GraphFile> graph_from_json(Graph& graph, std::string_view text, std::string_view file = {},
                                  NodePlaces* places = nullptr);
// Parses the graph at the position of `in`, without moving the caller's scanner.
Result<GraphFile> graph_from_json(Graph& graph, JsonScanner in, NodePlaces* places = nullptr);

// Writes a growing graph, one line per node, {"id":17,"op":...}. Sources are the numbers of earlier lines, from 0.
class JsonNodeWriter {
 public:
  explicit JsonNodeWriter(Graph& graph);
  ~JsonNodeWriter();
  // Appends a line for every node under `u` that has no line yet. Returns the number of u's line.
  int64_t append_lines(UOp u, std::string& out);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};
class JsonNodeReader {
 public:
  JsonNodeReader(Graph& graph, std::string file);
  ~JsonNodeReader();
  // Parses the line `text`, and returns its node and its id (-1 if it has none). If `text` is malformed, throws a
  // Failure that names line `line`.
  std::pair<UOp, int64_t> read_line(std::string_view text, uint32_t line);
  size_t size() const;
  UOp node_of_line(size_t number) const;  // requires number < size()

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tgc
