// Simplifying under a condition that is known to hold: the validity of an index (tinygrad uop/symbolic.py:
// simplify_valid and its aside).
#pragma once
#include <optional>

#include "lib/rewrite/rules.h"

namespace tgc {

// A clause as a bound of an expression: expr <= bound when upper, else expr >= bound (parse_valid).
struct BoundClause {
  UOp expr;
  bool upper;
  Int bound;
};
std::optional<BoundClause> parse_valid(UOp clause);

// `u` simplified given that `valid` holds; the same node when that helps nothing. With `try_simplex` each clause is
// also tried on its own, and a clause x0 + x1 + ... > 0 by its parts.
UOp uop_given_valid(UOp valid, UOp u, bool try_simplex = true);

const RuleSet& pm_simplify_valid();       // conditions, and indices under their condition
const RuleSet& pm_drop_and_clauses();     // clauses of a gated index that do not share its ranges
const RuleSet& pm_move_where_on_load();   // cond ? buf[x] : 0 becomes a gated load

}  // namespace tgc
