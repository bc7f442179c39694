// Evaluates ALU ops on constants as tinygrad does in Python (uop/ops.py: exec_alu, python_alu).
#pragma once
#include <span>

#include "lib/uop/uop.h"

namespace tgc {

// Returns the result of `op` on `operands`, which are numbers; for a vector dtype, also Tuples of numbers; for indices,
// also Invalid. The elements of a vector are truncated to the dtype; a scalar result only if `truncated` is true.
// Throws Failure where Python raises an exception, for a wrong number of operands, and if the result is too large.
Arg exec_alu(Graph& graph, Op op, DType dtype, std::span<const Arg> operands, bool truncated = true);

// Returns UOp.const(dtype, value). `value` is a number, or a Tuple with one number per element.
UOp const_from_arg(Graph& graph, DType dtype, Arg value);
// Returns u.const_like(value). `value` is a number, or a Tuple with one number per element.
UOp const_like_arg(UOp u, Arg value);

// Returns the identity element of a reduction by ADD, MUL or MAX (ops.py:identity_element). Throws Failure for another
// op.
Const identity_element(Op op, DType dtype);

}  // namespace tgc
