// Prints index expressions as infix text, "((r0*8+r1)//3)", for names and messages (uop/ops.py:render), and evaluates
// index expressions (ops.py:sym_infer).
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "lib/support/result.h"
#include "lib/uop/uop.h"

namespace tgc {

// Returns the text of `u`, which is simplified first if `simplify` is true. A node for which there is no syntax is
// printed as text_of(node), or as its op if `text_of` is empty. Throws Failure if the texts are too large. The text of
// a graph of another release than 0.12.0 is render_foreign_graph(u).
std::string render(UOp u, bool simplify = true, const std::function<std::string(UOp)>& text_of = {});
// Returns true if `u`, written as a tree in which each use of a node is a new node, has at most `nodes` nodes.
bool is_tree_within(UOp u, size_t nodes);

// Returns the axis ids of a RANGE, joined by '_' (ops.py:range_str). A negative id, such as -1, is printed as "m1"; an
// id that is not an integer, as "?".
std::string range_str(UOp range);
// Returns the axis ids of the ranges, sorted by arg, joined by ',' and padded to `pad` columns (ops.py:multirange_str).
// If `color` is true, each range is printed in the color of its axis type.
std::string multirange_str(std::span<const UOp> ranges, bool color, size_t pad);

// Returns "a+b" for "(a+b)"; `text` unchanged if it has no outer parentheses that match (helpers.py:strip_parens).
std::string_view strip_parens(std::string_view text);

// Return the infix operator of `op` ("" if it has none), and its precedence (1 binds tightest; 99 for comparisons, and
// for ops that have none).
std::string_view infix_symbol(Op op);
int infix_precedence(Op op);
// Appends "(", `left`, the infix operator of `x`, `right` and ")". Strips the outer parentheses of `left` and `right`
// where the precedence of the operators allows it (ops.py:strip_binary_parens).
void append_infix(std::string& out, UOp x, std::string_view left, std::string_view right);

// Returns the value of an index expression (ops.py:sym_infer). value_of(name) returns the value of a variable, or
// nullopt. Throws Failure if the expression cannot be evaluated.
Int sym_infer(UOp u, const std::function<std::optional<Int>(std::string_view)>& value_of);

// Like render(), for graphs of releases other than 0.12.0 (tinygrad's uop/render.py). Does not simplify. A node whose
// text is very long is printed as its op.
std::string render_foreign_graph(UOp root);

}  // namespace tgc
