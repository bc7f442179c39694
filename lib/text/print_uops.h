// print_uops: tinygrad's listing of a linear list, one line a node: position, op, the ranges it lies in (coloured),
// dtype, sources by position (constants by value, "--" for a node outside the list) and arg (ops.py print_uops). Of a
// node listed twice sources give the last position, which may be below them.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/result.h"
#include "lib/text/graph_info.h"
#include "lib/text/source_position.h"
#include "lib/uop/graph.h"

namespace tgc {

// Each line ends with a newline; an empty list gives an empty text.
std::string print_uops(std::span<const UOp> list);
// The same below comments that say what it loses, where something is: "# UOp 12: dtypes.int, src=(3, 7), tag=1" of the
// node at 12, its sources by position. Sources outside the list stay lost.
CompleteText print_uops_complete(std::span<const UOp> list);

// A listing as read. The text says everything about a node but: its tag; which of several constants of one value a
// source is (the one whose dtype fits is taken); the sources that are not in the list (a NOOP stands for them).
struct UopsListing {
  std::vector<UOp> list;
  std::vector<std::string> notes;  // what was lost in this very text
};

// The nodes of a listing, colours optional. `file` names the input in messages, which carry line and column;
// `places` receives where nodes stand.
Result<UopsListing> read_uops(Graph& graph, std::string_view text, std::string_view file = {},
                              Places* places = nullptr);

}  // namespace tgc
