// Reads and writes pyrender, tinygrad's text of a graph: Python that builds the graph again (ops.py:pyrender). The
// writer prints exactly what tinygrad prints; the reader accepts any Python expression over the same names.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/result.h"
#include "lib/text/graph_info.h"
#include "lib/text/source_position.h"
#include "lib/uop/graph.h"

namespace tgc {

// Returns the text of the graph under `root`, without a final newline. Fails if tinygrad's own pyrender fails, because
// shapes do not fit.
Result<std::string> pyrender(UOp root);

// Like pyrender, but adds a comment below each line that would be read as another node: "# c12: dtypes.float.vec(8)"
// states the dtype of c12, "# c12 = UOp(...)" its whole expression. If `lost` is true in the result, the text must be
// written below a header (graph_info.h).
Result<CompleteText> pyrender_complete(UOp root);

// Reads the graph that the text builds: the node assigned to `ast`, or else the node that is assigned last. Nodes are
// made as written (a cast to the same dtype stays). `file` is the input's name in messages, which have line and column.
// `places` receives the positions of the nodes. In a text without a header, omitted facts are inferred, such as the
// dtypes of REDUCEs and LOADs from their uses; `warnings` receives one warning per fact that cannot be inferred.
Result<UOp> read_pyrender(Graph& graph, std::string_view text, std::string_view file = {}, Places* places = nullptr,
                          std::vector<std::string>* warnings = nullptr);

// Parses a list of optimizer options in Python's notation, "[Opt(OptOps.UPCAST, 0, 4), ...]"; the brackets may also be
// parentheses.
Result<std::vector<Arg>> read_opts(Graph& graph, std::string_view text, std::string_view file = {});

}  // namespace tgc
