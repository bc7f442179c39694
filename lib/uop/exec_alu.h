// The value of an ALU op on constants, as tinygrad computes it in Python (ops.py exec_alu, python_alu).
#pragma once
#include <span>

#include "lib/uop/uop.h"

namespace tgc {

// `operands`: a Const each, or a Tuple of them for vectors. The result is a Tuple when `dtype` is a vector. With
// `truncated` a scalar result is rounded to `dtype`; elements of vectors always are. Throws Failure where Python
// raises.
Arg exec_alu(Graph& graph, Op op, DType dtype, std::span<const Arg> operands, bool truncated = true);

// UOp.const(dtype, value), where value is a Const or a Tuple of one Const per element.
UOp const_from_arg(Graph& graph, DType dtype, Arg value);
// u.const_like(value)
UOp const_like_arg(UOp u, Arg value);

// The identity of a reduction by ADD, MUL or MAX (ops.py identity_element).
Const identity_element(Op op, DType dtype);

}  // namespace tgc
