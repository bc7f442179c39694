// Properties of the sides of a rule's instances.
#pragma once
#include "lib/prove/prove_sides.h"

namespace tgc {

// Return true if a node of the expression, or of the sides, satisfies `test`.
bool has_node_where(UOp root, bool (*test)(UOp));
bool has_node_where(const SidePairs& pairs, bool (*test)(UOp));

// Returns true for a BITCAST to a float: REF may change the payload of a NaN that it makes.
bool is_float_of_bits(UOp u);
bool is_float_narrowing(UOp u);
bool is_cast_of_float(UOp u);
bool is_index_over_64_bits(UOp u);
bool is_invalid_constant(UOp u);

// Returns sides whose values are 0 where those of `pairs` are numbers, and Invalid where they are Invalid. Leaves out
// sides without values or of different dtypes, indices, and pairs whose left side contains no Invalid.
SidePairs invalid_sides(const SidePairs& pairs);

}  // namespace tgc
