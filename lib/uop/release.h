// The tinygrad releases whose graphs can be read and written, and their ops: which exist, how they sort, and how an
// unknown op keeps its name.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "lib/uop/ops.h"

namespace tgc {

class UOp;
class Arg;
class Graph;

// Other: a branch or port of tinygrad, or a release that is newer than this table.
enum class Release : uint8_t { v0_11, v0_12, v0_13, v0_14, Other };
std::string_view name_of(Release release);  // such as "0.14"; "other" for Other

// Returns the release of a recording's producer: v0_14 for "tinygrad 0.14.0", v0_12 for "", Other for anything else.
Release release_of(std::string_view producer);

bool has_op(Release release, Op op);  // always true for Release::Other
// Returns the op with this name in any known release. Returns OTHER if no release has it.
Op op_of(std::string_view name);
// Returns the sort key of an op: its value in the release's enum. Ops that the release does not have sort after all
// others, in the order of ops.def. Release::Other sorts as 0.14 does.
int order_of(Release release, Op op);

// A node whose op is in no known release has op OTHER and an arg that holds the op's name and the node's own arg.
// shown_op and shown_arg return the name and arg to display; for an OTHER node, they are in its arg.
std::string_view shown_op(UOp u);
Arg shown_arg(UOp u);
// Returns the arg of an OTHER node for an op named `name` and the node's own arg `arg`.
Arg other_arg(Graph& graph, std::string_view name, Arg arg);

}  // namespace tgc
