// Reads and writes pyrender text of every release: Python code that builds a graph.
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

// Reads and writes pyrender text (ops.py:pyrender), which is Python code that builds a graph. The writer prints exactly
// what tinygrad prints. The reader accepts any Python expression over the same names.
class PyrenderReader;

// Returns the text of the graph under `root`, without a final newline. Returns an error if tinygrad's own pyrender
// fails, because shapes do not fit.
Result<std::string> pyrender(UOp root);

// Like pyrender, but adds a comment below each line that would be read as a different node: "# c12 = UOp(...)" states
// the whole node c12, and "# c12: dtypes.float.vec(8)" states only its dtype. If `needs_header` of the
// result is true, the text must be written below a header (graph_info.h).
Result<CompleteText> pyrender_complete(UOp root);

// Returns the node that the text assigns to `ast`, or, without such a node, the last assigned node. Nodes are not
// simplified. Error messages name `file`, line and column. `places` receives the positions of the nodes. If the text
// has no header, facts that the text omits are inferred, for instance the dtype of a LOAD from its uses. `warnings`
// receives one warning per fact that cannot be inferred.
Result<UOp> read_pyrender(Graph& graph, std::string_view text, std::string_view file = {}, Places* places = nullptr,
                          std::vector<std::string>* warnings = nullptr);

// Parses a list of optimizer options in Python's notation, "[Opt(OptOps.UPCAST, 0, 4), ...]"; the brackets may also be
// parentheses.
Result<std::vector<Arg>> read_opts(Graph& graph, std::string_view text, std::string_view file = {});

struct PlacedText {
  std::string text;                              // pyrender's text, without a final newline
  std::vector<std::pair<UOp, uint32_t>> lines;   // each node that has its own line, with the 0-based line number
};

// Returns the text pyrender(root) and the line number of each node in it, or the error of pyrender().
Result<PlacedText> pyrender_with_places(UOp root);

// Writes pyrender text exactly as tinygrad 0.13 and later print it (uop/render.py). A graph that tinygrad cannot print,
// or whose release is unknown, is written with every node as UOp(...).

// The pyrender text of a graph, without a final newline. `generic` is true if every node is written as UOp(...) because
// the pyrender of the graph's release fails on the graph.
struct OpenText {
  std::string text;
  bool generic = false;
  std::vector<UOp> lines = {};  // the node of each line of `text`
};
OpenText pyrender_open(UOp root);

// Like pyrender_open, but adds a comment with the whole node, "# c12 = UOp(...)", below each line that would be read as
// a different node. `needs_header` is also true if the text itself does not show which release printed it.
CompleteText pyrender_open_complete(UOp root);

// Reads pyrender text of tinygrad 0.13 and later (uop/render.py prints it; uop/ops.py and mixin/ define its meaning).
// Also reads texts of any release other than 0.12.0 in which every node is written as UOp(...).

// Returns a reader for the release of `graph`, which must not be 0.12.0; arguments: see read_pyrender. The reader makes
// exactly the nodes that the text names: it does not add casts or broadcasts and does not fold, as tinygrad's methods
// do. Dtypes that the text omits are inferred by the rules of the release. A dtype that these rules cannot infer, such
// as that of a LOAD that differs from its pointer's, must be stated by a comment.
std::unique_ptr<PyrenderReader> open_pyrender_reader(Graph& graph, std::string_view text, std::string_view file,
                                                     Places* places);

// Guesses the release of a text without a header from its ops, dtypes, methods and the order of UOp.const's arguments.
// Returns 0.14 if only 0.13 and 0.14 are possible; returns 0.12.0 if all three are, or none.
Release release_in_text(std::string_view text);

}  // namespace tgc
