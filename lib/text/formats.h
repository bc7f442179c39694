// The texts of a graph by name, and the kinds of input by content.
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

// X(enumerator, name, file extension, what it is)
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

// The graph under `root` in that format, with a final newline.
Result<std::string> write_graph(Format format, UOp root, const GraphInfo& info = {});
// A linear list; formats of graphs alone (pyrender, repr, dot) show the graph under its last node.
Result<std::string> write_list(Format format, std::span<const UOp> list, const GraphInfo& info = {});

// X(enumerator, what messages call it)
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

// The kind of an input that begins with `head` (its first line at least). Text that is nothing else counts as pyrender.
InputKind detect_kind(std::string_view head);

// What a text says of its graph before the graph begins, in a header or in members of JSON: quick, as nothing else is
// read. Empty where it says nothing, or is malformed.
GraphInfo info_before(InputKind kind, std::string_view text);

struct ReadReport {
  bool take_malformed = false;     // asked for: a graph whose dtypes do not belong together is no error
  std::string_view producer;       // asked for: whose text it is where it does not say so: "tinygrad 0.14.0"
  std::vector<std::string> notes;  // what the text could not say
  Places places;                   // where nodes stand
  std::shared_ptr<const Repro> repro;  // of a bundle: what it holds besides the graph
};

// The graph of a text of kind Pyrender, Repr, Uops, Json or Repro; each of its nodes is well formed
// (lib/uop/wellformed.h).
Result<GraphFile> read_graph(Graph& graph, InputKind kind, std::string_view text, std::string_view file = {},
                             ReadReport* report = nullptr);

}  // namespace tgc
