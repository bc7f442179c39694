// Reads and writes the listing that tinygrad's print_uops (uop/ops.py in 0.12.0) prints of a linear list. A source
// outside the list is shown as "--".
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

// Returns the listing, with a final newline; "" for an empty list.
std::string print_uops(std::span<const UOp> list);
// As print_uops(), with comments above the listing that state facts which it leaves out, such as
// "# UOp 12: dtypes.int, src=(3, 7), tag=1".
CompleteText print_uops_complete(std::span<const UOp> list);

// The nodes that a listing shows. A source outside the list is a NOOP. If several constants have a source's value, the
// reader takes one whose dtype fits or, if there is none, the last one.
struct UopsListing {
  std::vector<UOp> list;
  std::vector<std::string> warnings;  // about facts that the text does not show
};

// Parses a listing, with or without colours. Errors name `file`, line and column. `places`, if not null, receives the
// positions of the nodes.
Result<UopsListing> read_uops(Graph& graph, std::string_view text, std::string_view file = {},
                              NodePlaces* places = nullptr);

}  // namespace tgc
