// The tinygrad releases whose graphs can be read and written: which ops each release has, how the ops sort, and how a
// node stores the name of an op that is not in ops.def.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "lib/uop/ops.h"

namespace tgc {

class UOp;
class Arg;
class Graph;

// Other is the release of graphs whose producer is not tinygrad of a release in releases.def, such as a port. A commit
// of tinygrad counts as the release that its version names.
enum class Release : uint8_t { v0_11, v0_12, v0_13, v0_14, Other };
std::string_view name_of(Release release);  // such as "0.14"; "other" for Other

// Returns the release of a recording's producer, such as v0_14 for "tinygrad 0.14.0". Returns v0_12 for "", and Other
// for a producer that is no release in releases.def.
Release release_of(std::string_view producer);
// Returns the text by which a recording names a release as its producer: "tinygrad 0.14"; "unknown" for Other.
std::string producer_name(Release release);

bool has_op(Release release, Op op);  // returns true if the release has the op; always true for Release::Other
// Returns the op with this name in ops.def; OTHER if there is none.
Op op_of(std::string_view name);
// Returns the sort key of an op in a release: the op's position in the release's enum, from 1. Ops that the
// release does not have sort last, in the order of ops.def. Release::Other has the keys of the newest release in
// releases.def.
int op_order_of(Release release, Op op);

// Return the op name and the arg to print for `u`. If ops.def does not have the op of a node, the node has op OTHER,
// and its arg contains the op's name and the actual arg.
std::string_view printed_op_name(UOp u);
Arg printed_arg(UOp u);
// Returns the arg of an OTHER node that represents a node with the op `name` and the arg `arg`.
Arg other_node_arg(Graph& graph, std::string_view name, Arg arg);

// Returns the releases of releases.def, the oldest first. A release without an enumerator has a value above
// Release::Other.
std::span<const Release> known_releases();

// The next three functions look names up in releases.def. They return false for Release::Other.
bool has_op(Release release, std::string_view op);
// `name` is that of a dtype or an enum value, such as "dtypes.weakint" or "AxisType.WEAK".
bool has_name(Release release, std::string_view name);
// Returns true if the release has the dataclass `record` for args and `field` is one of its fields or "".
bool has_field(Release release, std::string_view record, std::string_view field);

}  // namespace tgc
