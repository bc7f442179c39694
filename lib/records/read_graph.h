// Detects the kind of an input from its content, and reads the graph of a text.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/text/graph_json.h"

namespace tgc {

struct Repro;

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
InputKind detect_input_kind(std::string_view head);

// Reads the metadata before the graph: the header of a text, or the members of a JSON object before "nodes". Missing
// fields are empty. If this metadata is malformed, all fields are empty.
GraphInfo read_graph_info(InputKind kind, std::string_view text);

struct GraphReadReport {
  // option: accept graphs that are not well formed, such as with inconsistent dtypes
  bool accepts_malformed_graphs = false;
  std::string_view producer;           // option: release of a text (not JSON) without a header: "tinygrad 0.14.0"
  std::vector<std::string> notes;      // warnings: facts that the text leaves out and that could not be inferred
  NodePlaces places;
  std::shared_ptr<const Repro> repro;  // of a repro bundle: all but its graph
};

// Reads a text of kind Pyrender, Repr, Uops, Json or Repro. Fails if the text is malformed and, unless
// `accepts_malformed_graphs` is set, if a node is not well formed, a list is out of order (lib/uop/wellformed.h) or
// `graph` has nodes of another release. `file` is for messages.
Result<GraphFile> read_graph(Graph& graph, InputKind kind, std::string_view text, std::string_view file = {},
                             GraphReadReport* report = nullptr);

// For editors: as read_graph() with `accepts_malformed_graphs`. Sets `nodes` to the nodes in the order of the text;
// after an error, to those that were read before it.
Result<GraphFile> read_graph_with_nodes(Graph& graph, InputKind kind, std::string_view text, std::string_view file,
                                        GraphReadReport& report, std::vector<NodePosition>& nodes);

}  // namespace tgc
