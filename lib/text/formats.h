// Output formats of a graph by name, and detection of the kind of an input from its content.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/text/graph_json.h"

namespace tgc {

struct Repro;

// X(enumerator, name, file extension, description)
#define TGC_FORMATS(X)                                                          \
  X(Pyrender, "pyrender", "uop", "tinygrad's pyrender: Python that builds the graph") \
  X(Uops, "uops", "uops", "tinygrad's print_uops: a listing, one line a node")   \
  X(Nodes, "nodes", "nodes", "one line a node: op dtype arg")                    \
  X(Repr, "repr", "repr", "tinygrad's repr: a tree of UOp(...)")                 \
  X(Json, "json", "json", "tgc's own, versioned and lossless")                   \
  X(Dot, "dot", "dot", "a drawing for Graphviz")

enum class Format : uint8_t {
#define X(id, ...) id,
  TGC_FORMATS(X)
#undef X
};
std::string_view name_of(Format format);
std::string_view extension_of(Format format);
std::span<const std::string_view> format_names();
std::optional<Format> parse_format(std::string_view name);

// Returns the graph under `root` as text in the format `format`, with a final newline.
Result<std::string> write_graph(Format format, UOp root, const GraphInfo& info = {});
// Returns a linear list as text in the format `format`. Formats that have no lists (pyrender, repr, dot) show the graph
// under the list's last node.
Result<std::string> write_list(Format format, std::span<const UOp> list, const GraphInfo& info = {});

// X(enumerator, name in messages)
#define TGC_INPUT_KINDS(X)                   \
  X(Pyrender, "pyrender text")               \
  X(Repr, "UOp repr text")                   \
  X(Uops, "a print_uops listing")            \
  X(Json, "tgc JSON")                        \
  X(Repro, "a repro bundle")                 \
  X(Golden, "golden records")                \
  X(Onnx, "an ONNX model")

enum class InputKind : uint8_t {
#define X(id, name) id,
  TGC_INPUT_KINDS(X)
#undef X
};
std::string_view name_of(InputKind kind);

// Returns the kind of an input whose first bytes are `head`, at least one line. Unrecognized text counts as pyrender.
InputKind detect_kind(std::string_view head);

// Reads the metadata that is written before the graph: the header of a text, or the members of a JSON object before
// "nodes". Fields that are missing there are empty. If the header or the JSON is malformed, all fields are empty.
GraphInfo info_before(InputKind kind, std::string_view text);

struct ReadReport {
  bool take_malformed = false;     // option: accept graphs whose nodes are not well formed, such as inconsistent dtypes
  std::string_view producer;       // option: release of a text that names no release, such as "tinygrad 0.14.0"
  std::vector<std::string> notes;  // warnings: facts that the text leaves out and that could not be inferred
  Places places;                   // positions of the nodes in the text
  std::shared_ptr<const Repro> repro;  // for a repro bundle: all of its members except the graph
};

// Reads the graph of a text of kind Pyrender, Repr, Uops, Json or Repro. Every node of the result is well formed
// (lib/uop/wellformed.h). `file` is the name of the input in messages.
Result<GraphFile> read_graph(Graph& graph, InputKind kind, std::string_view text, std::string_view file = {},
                             ReadReport* report = nullptr);

}  // namespace tgc
