// Reads and writes the repr of a graph: tinygrad's tree of UOp(...) with every field of every node; shared nodes are
// named `x0:=` at first occurrence (uop/ops.py:pretty_print). It loses only the pitch of images and the quotes of tags.
#pragma once
#include <string>
#include <string_view>

#include "lib/support/result.h"
#include "lib/text/graph_info.h"
#include "lib/text/source_position.h"
#include "lib/uop/graph.h"

namespace tgc {

// Returns repr(root), without a final newline.
std::string repr(UOp root);
// Like repr, below comments that state what the repr loses: the pitch of images and the quotes of tags. For example, "#
// UOp 3: dtypes.imagef((1, 2, 4), 128), tag='a'" is about the fourth UOp( of the text.
CompleteText repr_complete(UOp root);

// Reads the graph of a repr, in any layout. repr prints string tags without quotes, so a tag that looks like another
// value is read as that value, unless a comment states its type. `file` is the name of the input in messages, which
// have line and column. `places` receives the positions of the nodes.
Result<UOp> read_repr(Graph& graph, std::string_view text, std::string_view file = {}, Places* places = nullptr);

}  // namespace tgc
