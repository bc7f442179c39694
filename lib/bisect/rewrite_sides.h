// Describes rewrites of a compilation in verdicts and as text, with both sides.
#pragma once
#include <string>

#include "lib/bisect/verdict.h"
#include "lib/validate/side_expressions.h"

namespace tgc {

// Returns one side of a rewrite as text: short expressions of integers or bools as one line, other nodes as a tree.
std::string side_text(UOp u);

// Returns a node and the nodes below it as a tree of `depth` levels. Folds repeated lines and truncates long trees.
std::string tree_text(UOp u, int depth);

// Sets the fields of `verdict` that identify the rewrite `a` and its sides.
void describe_rewrite(const Rewrite& a, Verdict& verdict);

// Returns text such as "number 2 of substitute in 'cut store ranges', lib/rewrite/substitute.cpp:37".
std::string rewrite_text(const Rewrite& a);

// Returns the first whole number, among both sides and their sources, that its dtype cannot represent, such as "8193.0
// of dtypes.half"; else "".
std::string unrepresentable_constant(const Rewrite& a);

// Describes how the sides' dtypes or numbers of elements differ. For sides of EquivalenceResult::Kind::Unlike.
std::string type_difference_text(const Rewrite& a);

}  // namespace tgc
