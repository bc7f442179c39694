// An expression as short infix text, "((r0*8+r1)//3)": for names and messages (ops.py render). Also its value for given
// variables.
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "lib/support/result.h"
#include "lib/uop/uop.h"

namespace tgc {

// The text of `u`, simplified first unless told otherwise. Nodes that have no infix form print their op or, where
// `text_of` is given, what it makes of them; in tinygrad that is their repr (lib/text/repr.h). Throws Failure where it
// takes more than 64 MB: a text says each node as often as it is used, and that may double with each.
std::string render(UOp u, bool simplify = true, const std::function<std::string(UOp)>& text_of = {});
// Whether the text of `u` says no more than so many nodes, each as often as it is used.
bool is_tree_within(UOp u, size_t nodes);

// The axis ids of a RANGE joined by '_', negative ones as "m1" (ops.py range_str), what is no number as "?".
std::string range_str(UOp range);
// The ranges sorted by arg, joined by ',', each in its axis type's colour, padded to `pad` columns (ops.py
// multirange_str).
std::string multirange_str(std::span<const UOp> ranges, bool color, size_t pad);

// "(a+b)" -> "a+b" when the outer parentheses belong together (helpers.py strip_parens).
std::string_view strip_parens(std::string_view text);

// The infix operator of an op, empty when it has none; and how tightly it binds (99: not listed).
std::string_view infix_symbol(Op op);
int infix_precedence(Op op);
// code(left, right) with the parentheses of the operands dropped where precedence allows (ops.py strip_binary_parens).
void append_infix(std::string& out, UOp x, std::string_view left, std::string_view right);

// The integer value of an index expression when `value_of` gives each variable's value by name (ops.py sym_infer).
// Throws Failure for an unknown variable or an op that has no value.
Int sym_infer(UOp u, const std::function<std::optional<Int>(std::string_view)>& value_of);

}  // namespace tgc
