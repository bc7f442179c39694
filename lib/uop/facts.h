// Derived facts of a node, each computed once and bottom-up without recursion (ops.py: _shape, _device, _ranges,
// _min_max, axis).
#pragma once
#include <optional>
#include <span>

#include "lib/support/sha256.h"
#include "lib/uop/sint.h"
#include "lib/uop/uop.h"

namespace tgc {

// The shape, or nullopt for nodes without one. Throws Failure where the graph's shapes do not fit together.
std::optional<Shape> shape_or_none(UOp u);
Shape shape_of(UOp u);  // throws Failure when there is none
// prod of the shape with symbolic sizes at their greatest (UOp.size).
Int size_of(UOp u);

// The device: a Str, a Tuple of Str for several, or None.
Arg device_of(UOp u);
Arg device_or_throw(UOp u);  // throws Failure when it is None (UOp.device)

// Notes the shape and the device of `from` for `to`, which is `from` with another tag or other sources, where it is
// plain that they are the same: they need not be computed again.
void inherit_facts(UOp from, UOp to);

// The ranges that end at this node (UOp.ended_ranges).
std::vector<UOp> ended_ranges(UOp u);
// The ranges the node lies in, in tinygrad's order; a RANGE lies in itself (UOp.ranges).
std::span<const UOp> ranges_of(UOp u);
bool lies_in(UOp u, UOp range);  // range in u.ranges

// The axis a tensor is sharded over, nullopt when it is not (UOp.axis).
std::optional<int64_t> axis_of(UOp u);

// The movement argument (UOp.marg) of RESHAPE, EXPAND: sizes; of PAD, SHRINK: pairs; of PERMUTE, FLIP: the arg itself.
ShapeVec marg_shape(UOp u);                              // RESHAPE, EXPAND
std::vector<std::pair<Sint, Sint>> marg_pairs(UOp u);    // PAD, SHRINK
// The i-th element of a shape argument as an integer or a UOp (UOp.sgep).
Sint sgep(UOp u, size_t i);

// UOp.base: through movement ops and MULTI.
UOp base_of(UOp u);
// The buffer that a load, a store or an index goes to (UOp.buf_target). Throws Failure for other nodes.
UOp buf_target(UOp u);

// The buffer that an AFTER, a movement of one, or a choice or stack of several stands for (UOp.buf_uop). Throws Failure
// for other nodes.
UOp buf_uop(UOp u);
// The buffer that is reached through the first sources, whatever they are (UOp.as_buf).
UOp as_buf(UOp u);

// How two nodes compare by (op, arg, dtype, sources...), tinygrad's tuplize. Tags do not count, so different nodes may
// be Equal. Throws Failure where Python would raise a TypeError.
Order compare_tuplize(UOp a, UOp b);
Order compare_alone(UOp a, UOp b);  // by (op, arg, dtype), without the sources
inline bool tuplize_less(UOp a, UOp b) { return compare_tuplize(a, b) == Order::Less; }

// sha256 over op, dtype, arg and the keys of the sources (UOp.key).
Sha256 key_of(UOp u);

}  // namespace tgc
