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

// Other: a branch, a port, or a release newer than this table.
enum class Release : uint8_t { v0_11, v0_12, v0_13, v0_14, Other };
std::string_view name_of(Release release);  // "0.14"; "other"

// Returns the release of a recording's producer: v0_14 for "tinygrad 0.14.0", v0_12 for "", Other for anything else.
Release release_of(std::string_view producer);

bool has_op(Release release, Op op);  // always true for Release::Other
// Returns the op with this name in any release, OTHER if no release has it.
Op op_of(std::string_view name);
// Returns the sort key of an op: its value in the release's enum. Ops that the release lacks sort after all others, in
// the order of ops.def. Other sorts as 0.14.
int order_of(Release release, Op op);

// A node whose op is in no known release has op OTHER, whose arg holds the op's name and the real arg.
// The name and the arg to display for a node; for an OTHER, those that it holds.
std::string_view shown_op(UOp u);
Arg shown_arg(UOp u);
// Returns the arg of an OTHER node with this name and arg.
Arg other_arg(Graph& graph, std::string_view name, Arg arg);

}  // namespace tgc
