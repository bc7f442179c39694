// Simplifies expressions under a condition that is known to hold, such as the gate of an index
// (tinygrad uop/symbolic.py: parse_valid to pm_move_where_on_load).
#pragma once
#include <optional>

#include "lib/rewrite/rules.h"

namespace tgc {

// A clause of a condition as a bound: expr <= bound if `upper`, else expr >= bound.
struct BoundClause {
  UOp expr;
  bool upper;
  Int bound;
};
// Returns the bound that an integer comparison x < c or !(x < c) states; nullopt for other clauses (parse_valid).
std::optional<BoundClause> parse_valid(UOp clause);

// Returns `u` simplified under the assumption that `valid` holds, or `u` itself if that does not help. With
// `try_simplex`, also tries each clause alone, and splits a clause x0 + x1 + ... >= 1 into the cases xi >= 1.
UOp uop_given_valid(UOp valid, UOp u, bool try_simplex = true);

const RuleSet& pm_simplify_valid();       // simplifies conditions, and indices under their condition
const RuleSet& pm_drop_and_clauses();     // drops the clauses of a gate that share no range with the gated index
const RuleSet& pm_move_where_on_load();   // cond ? buf[x] : 0 -> buf[cond ? x : invalid]

}  // namespace tgc
