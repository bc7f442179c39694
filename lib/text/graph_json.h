// Graphs as JSON, a format of our own: versioned, and lossless (every field of every node, with its very type). README.md describes it.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/result.h"
#include "lib/text/source_position.h"
#include "lib/uop/graph.h"

namespace tgc {

// What a file of a graph says besides the graph; each may be empty.
struct GraphInfo {
  std::string name;                              // of the kernel or record
  std::string stage;                             // the stage whose result this is
  std::string target;
  std::map<std::string, std::string> settings;   // that were set
};

struct GraphFile {
  GraphInfo info;
  UOp root;
  std::vector<UOp> list;  // of a linear list: its nodes in order; else empty
};

// One node a line; with a final newline.
std::string graph_to_json(UOp root, const GraphInfo& info = {});
std::string list_to_json(std::span<const UOp> list, const GraphInfo& info = {});

// `file` names the input in messages, which carry line and column; `places` receives where nodes stand.
Result<GraphFile> graph_from_json(Graph& graph, std::string_view text, std::string_view file = {}, Places* places = nullptr);

}  // namespace tgc
