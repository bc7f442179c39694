// The repr of a graph: tinygrad's tree of UOp(...) with every field of every node, shared nodes named on first sight
// with `x0:=` (uop/ops.py pretty_print). It loses nothing but the pitch of images.
#pragma once
#include <string>
#include <string_view>

#include "lib/support/result.h"
#include "lib/text/graph_info.h"
#include "lib/text/source_position.h"
#include "lib/uop/graph.h"

namespace tgc {

// repr(root), without a final newline.
std::string repr(UOp root);
// The same below comments that say what it loses, the pitch of images and the quotes of tags:
// "# UOp 3: dtypes.imagef((1, 2, 4), 128), tag='a'" of the fourth UOp( in the text.
CompleteText repr_complete(UOp root);

// The graph of such a text, in any layout. A tag that is a string is printed without quotes; one that could be another
// value is read as that, unless a comment above says more. `file` names the input in messages, which carry line and
// column; `places` receives where nodes stand.
Result<UOp> read_repr(Graph& graph, std::string_view text, std::string_view file = {}, Places* places = nullptr);

}  // namespace tgc
