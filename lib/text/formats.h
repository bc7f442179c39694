// Writes graphs as text. lib/records/read_graph.h reads most of these formats.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "lib/text/graph_json.h"

namespace tgc {

// X(enumerator, name, file extension, description)
#define TGC_FORMATS(X)                                                          \
  X(Pyrender, "pyrender", "uop", "tinygrad's pyrender: Python that builds the graph") \
  X(Uops, "uops", "uops", "tinygrad's print_uops: a listing, one line a node")   \
  X(Nodes, "nodes", "nodes", "one line a node: op dtype arg")                    \
  X(Repr, "repr", "repr", "tinygrad's repr: a tree of UOp(...)")                 \
  X(Json, "json", "json", "tgc's own, versioned and lossless")                   \
  X(Dot, "dot", "dot", "a drawing for Graphviz")

enum class GraphFormat : uint8_t {
#define X(id, ...) id,
  TGC_FORMATS(X)
#undef X
};
std::string_view name_of(GraphFormat format);
std::string_view file_extension_of(GraphFormat format);
std::span<const std::string_view> format_names();
std::optional<GraphFormat> parse_format(std::string_view name);

// Returns the graph under `root` as text with a final newline. Fails if the graph cannot be written in this format.
Result<std::string> write_graph(GraphFormat format, UOp root, const GraphInfo& info = {});
// Returns the list as text; "" for an empty list. Pyrender, Repr and Dot show only the graph under the last node. Fails
// as write_graph() does.
Result<std::string> write_list(GraphFormat format, std::span<const UOp> list, const GraphInfo& info = {});

}  // namespace tgc
