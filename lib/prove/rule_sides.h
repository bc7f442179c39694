// Properties of the sides of a rule's instances, which prove_live_rules() asks for.
#pragma once
#include "lib/prove/prove_sides.h"

namespace tgc {

// Returns true if a node of the sides satisfies `test`.
bool any_node(const SidePairs& pairs, bool (*test)(UOp));

// Return true if an expression has a BITCAST to a float (REF may change the payload of a NaN that such a cast makes),
// or a CAST of a float to a narrower float.
bool has_float_bits(UOp root);
bool has_narrowing(UOp root);

// Return true if a node is a CAST of a float to an integer, or an index that may not fit into 64 bits.
bool is_cast_of_float(UOp u);
bool is_index_over_64_bits(UOp u);

// Returns sides whose values are 0 where those of `pairs` are numbers, and Invalid where they are Invalid. Leaves out
// sides without values, indices, whose validity any proof compares, and pairs whose left side contains no Invalid.
SidePairs invalid_sides(const SidePairs& pairs);

}  // namespace tgc
