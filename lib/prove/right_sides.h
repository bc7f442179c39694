// right_sides_of: builds the right sides of rules from their data (RuleFolding) instead of their C++ code, so that
// captured constants may be unknown values.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "lib/rewrite/rules.h"

namespace tgc {

// A right side that a rule may make for an instance of its left side.
struct RightSide {
  UOp right_node;
  UOp condition = {};  // a bool that is true wherever the rule makes this right side; null means true
  // an assumption of `condition` that is not a guard of the rule, as text; "" if there is none
  std::string assumption_text = {};
};

// Returns the right sides that a rule may make for the node `root`. `captured` has the nodes that the pattern binds.
// Returns nullopt if the meaning of a part of the rule is unknown. Throws Failure if a right side cannot be built.
std::optional<std::vector<RightSide>> right_sides_of(const Rule& rule, UOp root, const UOp* captured);

// Returns true if a guard of the rule depends on the bounds of a node (vmin, vmax).
bool has_bounds_guard(const Rule& rule);
// Returns true if a guard of the rule depends on the bounds of a node or on its form.
bool are_shapes_needed(const Rule& rule);

inline UOp conjunction_of(UOp a, UOp b) { return !a ? b : !b ? a : a & b; }

// Returns a node of dtype bool that is true where the value of `u` is defined (lib/prove/README.md).
UOp defined_condition(UOp u);
// Returns a node of dtype bool that is true only where no checked op in `u` wraps around. With `is_exact`, computes
// with unbounded integers, and checks most integer ops and, with `has_casts`, casts of integers. Else computes in the
// dtypes, and checks fewer ops, such as left shifts and products by a constant.
UOp no_overflow_condition(UOp u, bool is_exact, bool has_casts = true);

}  // namespace tgc
