// Reads and writes tinygrad's pyrender text, Python code that builds a graph. Reads optimizer options, too.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/support/result.h"
#include "lib/text/graph_info.h"
#include "lib/text/source_position.h"
#include "lib/uop/graph.h"

namespace tgc {

class PyrenderReader;

// Returns the text of the graph under `root` without a final newline: for 0.12.0, as tinygrad prints it
// (uop/ops.py:pyrender), else that of pyrender_open_graph(). For 0.12.0, fails if tinygrad's own pyrender fails, for
// example because shapes do not fit, or if expressions or graphs in args nest too deeply.
Result<std::string> pyrender(UOp root);

// As pyrender(), with a comment below each line that would be read as a different node: "# c12 = UOp(...)" states the
// whole node c12, "# c12: dtypes.float.vec(8)" only its dtype. If `is_header_needed` is true, the text must be written
// below a header (graph_info.h). If pyrender() fails, tries again with movement ops as UOp(...).
Result<CompleteText> pyrender_complete(UOp root);

// Returns the node `ast`, or, without it, the last assigned node. Nodes are not simplified. Errors name `file`, line
// and column. `places` receives the positions of nodes. If the text has no header, facts that it omits are inferred,
// such as a vector length from the uses of a LOAD. In a graph of 0.12.0, `warnings` receives those that cannot be
// inferred, and the text may have operators and method calls that pyrender does not print.
Result<UOp> read_pyrender(Graph& graph, std::string_view text, std::string_view file = {}, NodePlaces* places = nullptr,
                          std::vector<std::string>* warnings = nullptr);

// Parses optimizer options in Python's notation, "[Opt(OptOps.UPCAST, 0, 4), ...]", in brackets or parentheses.
Result<std::vector<Arg>> read_opts(Graph& graph, std::string_view text, std::string_view file = {});

struct TextWithNodeLines {
  std::string text;
  std::vector<std::pair<UOp, uint32_t>> node_lines;  // nodes with a line of their own, and its number from 0
};

// Returns the text pyrender(root), or its error.
Result<TextWithNodeLines> pyrender_with_node_lines(UOp root);

// Returns true only if the text pyrender(root) follows from the op, the sources, and the repr() of dtype, arg and tag
// of each node.
bool is_text_implied_by_reprs(UOp root);

struct OpenGraphText {
  std::string text;
  bool has_no_original = false;  // tinygrad's own pyrender fails, or tgc does not know its format
  std::vector<UOp> line_nodes = {};
};
// For releases other than 0.12.0 (uop/render.py:pyrender since 0.13). For 0.11 and Release::Other, the text has every
// node as UOp(...).
OpenGraphText pyrender_open_graph(UOp root);

// As pyrender_open_graph(), with a comment "# c12 = UOp(...)" below each line that would be read as a different node.
// `is_header_needed` is also true if `has_no_original` is, or if the text does not show which release printed it.
CompleteText pyrender_open_complete(UOp root);

// Returns a reader for the release of `graph`, which is not 0.12.0; arguments as for read_pyrender(). Texts of 0.13 and
// 0.14 mean what uop/ops.py and mixin/ of the release define; texts of any release with every node as UOp(...) can be
// read, too. The reader makes the nodes that the text names, without the casts, broadcasts and folding of tinygrad's
// methods. It infers dtypes that the text omits by the rules of the release. A comment must state a dtype that these
// rules cannot infer, such as that of a LOAD that differs from its pointer's.
std::unique_ptr<PyrenderReader> open_pyrender_reader(Graph& graph, std::string_view text, std::string_view file,
                                                     NodePlaces* places);

// Guesses the release of a text without a header, 0.12.0 or later, from its ops, dtypes, enum values, methods and the
// order of UOp.const's arguments. If several releases are possible, returns 0.12.0 if it is one of them, or else the
// newest; if none is possible, 0.12.0.
Release release_in_text(std::string_view text);

}  // namespace tgc
