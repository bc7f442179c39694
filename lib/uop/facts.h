// Facts that are derived from a node, and the order and keys of nodes. Four facts (uop/ops.py: _shape, _device,
// _ranges, axis) are computed on first use, after those of the node's sources, and cached in the node. In a graph of a
// release other than 0.12.0, of these four only the ranges are computed.
#pragma once
#include <optional>
#include <span>

#include "lib/support/sha256.h"
#include "lib/uop/sint.h"
#include "lib/uop/uop.h"

namespace tgc {

// Returns the shape of `u`, or nullopt if `u` has no shape. Throws Failure if the shape cannot be computed.
std::optional<Shape> shape_or_none(UOp u);
Shape shape_of(UOp u);  // like shape_or_none, but throws Failure if `u` has no shape
// Returns the product of the sizes in u's shape (UOp.size). A symbolic size counts as its maximum. Throws Failure where
// shape_of does.
Int size_of(UOp u);

// Returns the device of `u`: a Str; a Tuple of Strs for several devices; or None. Throws Failure for a malformed node.
Arg device_of(UOp u);
Arg device_or_throw(UOp u);  // like device_of, but throws Failure if the device is None (UOp.device)

// `to` must be `from` with another tag or other sources. Copies the cached shape and the cached device of `from` to
// `to`, each only if the facts of the sources prove that `to` has the same.
void inherit_facts(UOp from, UOp to);

// Returns the nodes whose ranges `u` ends (UOp.ended_ranges). A RANGE stands for itself, another node for all its
// ranges.
std::vector<UOp> ended_ranges(UOp u);
// Returns the ranges that enclose `u`, in tinygrad's order (UOp.ranges). A RANGE encloses itself.
std::span<const UOp> ranges_of(UOp u);
bool is_inside_range(UOp u, UOp range);  // returns true if `range` is in ranges_of(u)

// Returns the axis over which the tensor `u` is sharded; nullopt if `u` is not sharded (UOp.axis). Throws Failure if
// the axis cannot be computed, as for a RESHAPE that moves items between shards.
std::optional<int64_t> axis_of(UOp u);

// Return the argument of the movement op `u` (UOp.marg). Throw Failure if the argument is malformed, and in graphs of
// releases other than 0.12.0.
ShapeVec marg_shape(UOp u);                              // for RESHAPE, EXPAND: the sizes
std::vector<std::pair<Sint, Sint>> marg_pairs(UOp u);    // for PAD: (before, after) per axis; for SHRINK: (begin, end)
// Returns element `i` of `u`, a vector of sizes or one size, as an integer or a UOp (UOp.sgep). Throws Failure
// if `u` is not a CONST, VCONST or VECTORIZE.
Sint sgep(UOp u, size_t i);

// Follows first sources from `u` down to the first node that is neither a movement op nor a MULTI (UOp.base).
UOp base_of(UOp u);
// Returns the DEFINE_GLOBAL, DEFINE_LOCAL or DEFINE_REG that `u` is or accesses (UOp.buf_target): follows first sources
// through LOAD, STORE, INDEX, AFTER, and VECTORIZE if its sources are equal. Throws Failure for other nodes.
UOp buf_target(UOp u);

// Returns the buffer of `u`, which is a BUFFER, an MSELECT, an MSTACK, or has an AFTER as its base_of (UOp.buf_uop).
// Throws Failure for other nodes.
UOp buf_uop(UOp u);
// Follows first sources from `u`, through any ops, to a BUFFER, BUFFERIZE, MSTACK or a node without sources, and
// returns it (UOp.as_buf). For an MSELECT or MSTACK, returns an MSELECT or MSTACK of the results for its sources.
UOp as_buf(UOp u);

// Compares two nodes by (op, arg, dtype, sources...) (UOp.tuplize). Ignores tags, so different nodes may be Equal.
// Throws Failure where py_compare (arg.h) does.
Order compare_tuplize(UOp a, UOp b);
Order compare_without_sources(UOp a, UOp b);  // compares (op, arg, dtype) only
inline bool tuplize_less(UOp a, UOp b) { return compare_tuplize(a, b) == Order::Less; }

// Returns the key of `u`: the SHA-256 of op, dtype, arg and the keys of the sources (UOp.key).
Sha256 key_of(UOp u);

}  // namespace tgc
