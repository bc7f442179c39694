// The releases of tinygrad whose graphs are read and written, and what of a node depends on them: which ops there are,
// how they sort, and what an op of none of them is called.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "lib/uop/ops.h"

namespace tgc {

class UOp;
class Arg;
class Graph;

// Other: a branch, a port, a release that is newer than this table.
enum class Release : uint8_t { v0_11, v0_12, v0_13, v0_14, Other };
std::string_view name_of(Release release);  // "0.14"; "other"

// Of a producer as recordings name it: "tinygrad 0.14.0" is v0_14; what is empty counts as 0.12, all else as Other.
Release release_of(std::string_view producer);

bool has_op(Release release, Op op);  // Other has all
// The op of that name in any release; OTHER of a name that none has.
Op op_of(std::string_view name);
// What the order of nodes follows: the value that the op has in that release's enum, and above all of them by place in
// our table where it has none.
int order_of(Release release, Op op);

// A node of an op that is not in the table is an OTHER, which keeps the name beside its arg.
// The name of the node's op, and its arg: those that an OTHER keeps.
std::string_view shown_op(UOp u);
Arg shown_arg(UOp u);
// The arg of an OTHER node of that name.
Arg other_arg(Graph& graph, std::string_view name, Arg arg);

}  // namespace tgc
