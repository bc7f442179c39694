// Reads and writes the repr of a graph (uop/ops.py:pretty_print): nested UOp(...) with every field but the pitch of an
// image, and with string tags unquoted. A shared node gets a name, `x0:=UOp(...)`, at its first occurrence.
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
// Like repr, but begins with comments that state the dtypes and tags which the repr cannot express. For example,
// "# UOp 3: dtypes.imagef((1, 2, 4), 128), tag='a'" is about the fourth UOp( of the text.
CompleteText repr_complete(UOp root);

// Reads a repr, with any line breaks. A tag without quotes that looks like a number or another value is read as that
// value, unless a comment states the tag. Error messages name `file`, line and column. `places` receives the positions
// of the nodes.
Result<UOp> read_repr(Graph& graph, std::string_view text, std::string_view file = {}, Places* places = nullptr);

}  // namespace tgc
