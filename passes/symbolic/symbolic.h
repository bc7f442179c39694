// The symbolic rule sets (tinygrad uop/symbolic.py, uop/divandmod.py). symbolic_simple() includes propagate_invalid(),
// symbolic() includes all sets declared before it, and sym() includes symbolic().
#pragma once
#include <optional>

#include "lib/rewrite/rules.h"

namespace tgc {

const RuleSet& propagate_invalid();     // moves Invalid outward through arithmetic; casts and comparisons drop it
const RuleSet& symbolic_simple();       // phase 1: generic folding
const RuleSet& commutative();           // sorts the operands of commutative index arithmetic
const RuleSet& div_and_mod_symbolic();  // folds integer division and remainder
const RuleSet& gep_pushing();           // moves GEPs from results to their sources
const RuleSet& symbolic();              // phase 2: the rules that simplify() applies
// phase 3: symbolic(), pm_simplify_valid() and rules that only the stages of a kernel need
const RuleSet& sym();

// Simplifies expressions under a condition that is known to hold, such as the gate of an index
// (tinygrad uop/symbolic.py: parse_valid to pm_move_where_on_load).

// A clause of a condition as a bound: expr <= bound if `is_upper`, else expr >= bound.
struct BoundClause {
  UOp expr;
  bool is_upper;
  Int bound;
};
// Returns the bound that an integer comparison x < c or !(x < c) states; nullopt for other clauses (parse_valid).
std::optional<BoundClause> parse_valid(UOp clause);

// Returns `u` simplified under the assumption that `valid` holds, or `u` itself if this changes nothing. With
// `try_simplex`, also tries each clause alone, and splits a clause x0 + x1 + ... >= 1 into the cases xi >= 1.
UOp uop_given_valid(UOp valid, UOp u, bool try_simplex = true);

const RuleSet& pm_simplify_valid();       // simplifies conditions, and indices under their condition
const RuleSet& pm_drop_and_clauses();     // drops the clauses of a gate that share no range with the gated index
const RuleSet& pm_move_where_on_load();   // cond ? buf[x] : 0 -> buf[cond ? x : invalid]

}  // namespace tgc
