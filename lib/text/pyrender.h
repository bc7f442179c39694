// Reads and writes pyrender text (ops.py:pyrender), which is Python code that builds a graph. The writer prints exactly
// what tinygrad prints. The reader accepts any Python expression over the same names.
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

// Like pyrender, but adds a comment below each line that would be read as a different node: "# c12 = UOp(...)" states
// the whole node c12, and "# c12: dtypes.float.vec(8)" states only its dtype. If `lost` is true in the result, the text
// must be written below a header (graph_info.h).
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

}  // namespace tgc
