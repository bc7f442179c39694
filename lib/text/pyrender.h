// pyrender: tinygrad's text of a graph, Python that builds it again (ops.py pyrender). The writer prints exactly what
// tinygrad prints; the reader takes any Python expression over the same names, however it is parenthesised.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/result.h"
#include "lib/text/graph_info.h"
#include "lib/text/source_position.h"
#include "lib/uop/graph.h"

namespace tgc {

// The text of the graph under `root`, without a final newline. A Diag where tinygrad's own pyrender fails (shapes that
// do not fit).
Result<std::string> pyrender(UOp root);

// The same lines with, below each that would be read as another node, a comment that says what its letters lose:
// "# c12: dtypes.float.vec(8)" for the dtype of what c12 names, "# c12 = UOp(...)" for the whole of its expression. A
// text that is `lost` without them needs a header above it (graph_info.h).
Result<CompleteText> pyrender_complete(UOp root);

// The graph that the text builds: the node assigned to `ast`, or the last one assigned when no name is `ast`. Nodes are
// made as written (a cast to the same dtype stays). `file` names the input in messages, which carry line and column;
// `places` receives where nodes stand. What a text of tinygrad's own leaves out is inferred, the dtypes of REDUCEs and
// LOADs from their uses; `warnings` receives what does not follow.
Result<UOp> read_pyrender(Graph& graph, std::string_view text, std::string_view file = {}, Places* places = nullptr,
                          std::vector<std::string>* warnings = nullptr);

// A list of the optimizer's choices as Python writes it, "[Opt(OptOps.UPCAST, 0, 4), ...]", in brackets of either kind.
Result<std::vector<Arg>> read_opts(Graph& graph, std::string_view text, std::string_view file = {});

}  // namespace tgc
