// Reads and writes print_uops, tinygrad's listing of a linear list, one line per node: position, op, enclosing ranges
// (coloured), dtype, sources by position (constants by value, "--" for a node outside the list) and arg
// (ops.py:print_uops). If a node is listed twice, its users refer to its last position, even if below them.
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

// Returns the listing of `list`. Each line ends with a newline; an empty list gives an empty text.
std::string print_uops(std::span<const UOp> list);
// Like print_uops, below comments that state what the listing loses. "# UOp 12: dtypes.int, src=(3, 7), tag=1" is about
// the node at position 12; its sources are positions. Sources outside the list are not recovered.
CompleteText print_uops_complete(std::span<const UOp> list);

// A parsed listing. The text determines every node except: its tag; sources that are not in the list (replaced by a
// NOOP); and which of several constants of equal value a source is (the reader takes the constant whose dtype fits).
struct UopsListing {
  std::vector<UOp> list;
  std::vector<std::string> notes;  // warnings: the facts that could not be recovered from this text
};

// Parses a listing, with or without colours. `file` is the name of the input in messages, which have line and column.
// `places` receives the positions of the nodes.
Result<UopsListing> read_uops(Graph& graph, std::string_view text, std::string_view file = {},
                              Places* places = nullptr);

}  // namespace tgc
