// Reads and writes pyrender text (tinygrad's pyrender): Python code that builds a graph.
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

class PyrenderReader;  // pyrender_reader.h

// Returns the text of the graph under `root` as the graph's release prints it (uop/ops.py:pyrender in 0.12.0), without
// a final newline. Returns an error if tinygrad's own pyrender fails, for example because shapes do not fit.
Result<std::string> pyrender(UOp root);

// Like pyrender, but adds a comment below each line that would be read as a different node: "# c12 = UOp(...)" states
// the whole node c12, and "# c12: dtypes.float.vec(8)" states only its dtype. If `needs_header` of the
// result is true, the text must be written below a header (graph_info.h).
Result<CompleteText> pyrender_complete(UOp root);

// Returns the node that the text assigns to `ast`, or, without such a node, the last assigned node. The text may have
// operators and method calls that pyrender does not print. Nodes are not simplified. Error messages name `file`, line
// and column. `places` receives the positions of the nodes. If the text has no header, facts that the text omits are
// inferred, for instance the dtype of a LOAD from its uses. `warnings` receives one warning per fact that cannot be
// inferred.
Result<UOp> read_pyrender(Graph& graph, std::string_view text, std::string_view file = {}, Places* places = nullptr,
                          std::vector<std::string>* warnings = nullptr);

// Parses a list of optimizer options in Python's notation, "[Opt(OptOps.UPCAST, 0, 4), ...]"; the brackets may also be
// parentheses.
Result<std::vector<Arg>> read_opts(Graph& graph, std::string_view text, std::string_view file = {});

struct PlacedText {
  std::string text;                                  // pyrender's text, without a final newline
  std::vector<std::pair<UOp, uint32_t>> node_lines;  // each node that has its own line, with the 0-based line number
};

// Returns the text pyrender(root) and the line number of each node in it, or the error of pyrender().
Result<PlacedText> pyrender_with_places(UOp root);

// Returns true if the text pyrender(root) follows from the op, the sources, and the repr() of dtype, arg and tag of
// each node. Returns false, for example, if the release is not 0.12, if the text shows shapes or graphs in args, or if
// a CONST has sources. The page of `tgc view` makes such texts itself (apps/tgc/view/pyrender.js).
bool text_follows_from_reprs(UOp root);

// The pyrender text of a graph, without a final newline. `lacks_original` is true if tinygrad prints no such text: its
// own pyrender fails on the graph, or the graph's release is not known to tgc.
struct OpenText {
  std::string text;
  bool lacks_original = false;
  std::vector<UOp> line_nodes = {};  // the node of each line of `text`
};
// Returns the text of a graph of a release other than 0.12.0, as the release prints it (uop/render.py:pyrender since
// 0.13). For a release that is not known to tgc, the text has every node as UOp(...).
OpenText pyrender_open(UOp root);

// Like pyrender_open, but adds a comment with the whole node, "# c12 = UOp(...)", below each line that would be read as
// a different node. `needs_header` is also true if the text itself does not show which release printed it.
CompleteText pyrender_open_complete(UOp root);

// Returns a reader for the release of `graph`, which must not be 0.12.0; arguments: see read_pyrender. Texts of 0.13
// and 0.14 mean what uop/ops.py and mixin/ of the release define; texts of any release with every node as UOp(...) can
// be read, too. The reader makes exactly the nodes that the text names: it does not add casts or broadcasts and does
// not fold, as tinygrad's methods do. Dtypes that the text omits are inferred by the rules of the release. A dtype that
// these rules cannot infer, such as that of a LOAD that differs from its pointer's, must be stated by a comment.
std::unique_ptr<PyrenderReader> open_pyrender_reader(Graph& graph, std::string_view text, std::string_view file,
                                                     Places* places);

// Guesses the release of a text without a header from its ops, dtypes, methods and the order of UOp.const's arguments.
// If several releases are possible, returns 0.12.0 if it is among them, else the newest. If none is possible, returns
// 0.12.0. Releases before 0.12.0 are not considered.
Release release_in_text(std::string_view text);

}  // namespace tgc
