// Checks that nodes are well formed: that a node has the number of sources and the type of arg that its op requires,
// and dtypes that fit together. Stages rely on these checks, so readers of files reject a graph that is not well
// formed. The checks must accept every node that tinygrad 0.12.0 makes. Nodes in graphs of other releases are not
// checked. first_unordered_node() checks the order of a linear list.
#pragma once
#include <optional>
#include <span>
#include <string>

#include "lib/uop/uop.h"

namespace tgc {

// Maximum size of a buffer in bytes. Sums of many such sizes fit into 64 bits.
inline constexpr int64_t kMaxBufferBytes = int64_t(1) << 48;

// Returns true if tinygrad 0.12.0 has the op, and a node with the op may have this number of sources and this arg.
// Readers must check this before they make a node, because other code relies on it.
bool has_structure(Op op, std::span<const UOp> src, Arg arg);

// Returns an error such as "Ops.STORE with 1 source, needs 2 or more". Returns "" if has_structure is true.
std::string structure_error(Op op, std::span<const UOp> src, Arg arg);

// Checks the dtypes of `u` and its sources and, for some ops, the arg or the ops of the sources. Returns an error such
// as "Ops.ADD dtypes.float of dtypes.float, dtypes.int, needs operands of its dtype"; "" if there is none. Requires
// has_structure.
std::string dtype_error(UOp u);

struct MalformedNode {
  UOp node;
  std::string message;
};
// Returns the first of `nodes` that has a dtype_error; nullopt if there is none, and for graphs of releases other than
// 0.12.0.
std::optional<MalformedNode> first_malformed_node(std::span<const UOp> nodes);

// Like first_malformed_node, for `root`, its transitive sources and the graphs inside KERNELs.
std::optional<MalformedNode> first_malformed_below(UOp root);

// Returns the first node of a linear list that occurs twice, or with a source that is missing or comes later; nullopt
// if there is none. After an ENDIF, its IF and the ENDIF may occur again. NOOP sources may be missing, because listings
// omit NOOPs. A list with machine instructions (INS) is not checked.
std::optional<MalformedNode> first_unordered_node(std::span<const UOp> list);

}  // namespace tgc
