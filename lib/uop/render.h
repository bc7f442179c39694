// Renders index expressions as short infix text, "((r0*8+r1)//3)", for names and messages (uop/ops.py:render), and
// evaluates them (sym_infer).
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "lib/support/result.h"
#include "lib/uop/uop.h"

namespace tgc {

// Returns the text of `u`, simplified first if `simplify` is true. A node without an infix form is printed as
// text_of(node), or as its op if `text_of` is empty; tinygrad prints its repr (lib/text/repr.h). Each use repeats the
// text of a node, which may grow exponentially: throws Failure if the texts of all nodes exceed 64 MiB together.
std::string render(UOp u, bool simplify = true, const std::function<std::string(UOp)>& text_of = {});
// Returns true if the tree of `u`, in which each use of a node counts again, has at most `nodes` nodes.
bool is_tree_within(UOp u, size_t nodes);

// Returns the axis ids of a RANGE joined by '_' (ops.py:range_str). A negative id is printed as "m1", an id that is not
// an integer as "?".
std::string range_str(UOp range);
// Returns the ranges sorted by arg, joined by ',' and padded to `pad` columns. With `color`, each has the color of its
// axis type (ops.py:multirange_str).
std::string multirange_str(std::span<const UOp> ranges, bool color, size_t pad);

// Returns "a+b" for "(a+b)". Returns `text` unchanged if its outer parentheses do not match (helpers.py:strip_parens).
std::string_view strip_parens(std::string_view text);

// infix_symbol returns the operator of `op`, or ""; infix_precedence its precedence, from 1 (binds tightest), or 99.
std::string_view infix_symbol(Op op);
int infix_precedence(Op op);
// Appends "(left OP right)", without the operands' parentheses if precedence allows (ops.py:strip_binary_parens).
void append_infix(std::string& out, UOp x, std::string_view left, std::string_view right);

// Evaluates an index expression; value_of(name) returns each variable's value (ops.py:sym_infer). Throws Failure for an
// unknown variable or an op without an integer value.
Int sym_infer(UOp u, const std::function<std::optional<Int>(std::string_view)>& value_of);

}  // namespace tgc
