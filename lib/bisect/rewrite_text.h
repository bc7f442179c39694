// Texts of rewrites for verdicts.
#pragma once
#include "lib/bisect/verdict.h"
#include "lib/trace/applications.h"

namespace tgc {

// Returns a node as a tree of that depth: repeated lines are folded, long trees truncated.
std::string tree_text(UOp u, int depth);

// Sets stage, rule, branch, location, position and both sides of the rewrite.
void name_rewrite(const Application& a, Verdict& verdict);

// "number 2 of substitute in 'cut store ranges', lib/rewrite/substitute.cpp:37"
std::string rewrite_text(const Application& a);

// Returns the first whole number in either side that its dtype cannot represent, "8193.0 of dtypes.half"; else "".
std::string unrepresentable_constant(const Application& a);

// How dtypes or numbers of elements of the sides differ (EquivalenceResult::Kind::Unlike).
std::string shape_difference(const Application& a);

}  // namespace tgc
