// Builds the right sides of rules from their data, so that captured constants may be unknown values. The listing of a
// rule (Folding) says what its C++ code does; prove_rules.h compares both on instances.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "lib/rewrite/rules.h"

namespace tgc {

// A right side that a rule may take for an instance of its left side.
struct RightSide {
  UOp right;
  UOp when = {};  // a bool that holds wherever the rule takes this right side; null: always
  std::string limit = {};  // what `when` assumes although the rule may apply elsewhere; "": nothing
};

// Returns the right sides that a rule may take for the node `root`, with the nodes that the pattern binds. Returns
// nullopt if a part of the rule is a C++ function whose meaning is unknown.
std::optional<std::vector<RightSide>> right_sides_of(const Rule& rule, UOp root, const UOp* captured);

// Returns whether a guard of the rule depends on the bounds of a node (vmin, vmax).
bool leans_on_bounds(const Rule& rule);
// Returns whether a guard depends on the form of a node: whether it is a constant, its bounds, its order.
bool needs_shapes(const Rule& rule);

// Returns the bool that is true where both are; null means true.
inline UOp conjunction(UOp a, UOp b) { return !a ? b : !b ? a : a & b; }

// Returns a bool: whether the value of `u` is defined, as lib/prove/README.md says.
UOp is_defined(UOp u);
// Returns a bool: whether no sum, product, shift or cast of integers in `u` wraps around, no bools are added, and
// constants lie within their dtypes. If `is_exact`, it is computed with unbounded numbers, else within the dtype: then
// a product has a quotient by a constant, and sums do not count. Without `has_casts`, a cast may lose bits.
UOp has_no_overflow(UOp u, bool is_exact, bool has_casts = true);

}  // namespace tgc
