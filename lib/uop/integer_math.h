// Algebra of integer expressions: factors, exact division, sums and products (uop/ops.py: is_increasing, const_factor,
// divides, pop_const, gcd, divide_exact, sum, prod, overflows). The functions throw Failure if a constant is not an
// integer and Python raises. An empty UOp as a result stands for Python's None: no divisor was found.
#pragma once
#include <utility>

#include "lib/uop/uop.h"

namespace tgc {

// int_vmin and int_vmax return the bounds of an integer expression. They throw Failure if a bound is not an integer.
Int int_vmin(UOp u);
Int int_vmax(UOp u);
bool overflows(UOp u, DType dtype);  // true if the bounds of `u` exceed those of `dtype`

bool is_increasing(UOp u);      // true if `u` provably does not decrease when one of its variables grows
Int const_factor(UOp u);        // an integer known to divide `u`; may be negative
bool is_divisible(UOp u, Int v);  // true if divides(u, v) is not empty
UOp divides(UOp u, Int v);      // u / v if `v` is known to divide `u`, else the empty UOp
UOp divide_exact(UOp u, UOp v); // u / v if `v` is known to divide `u`, else the empty UOp
UOp gcd(UOpSpan uops);          // a common divisor: the product of common factors and of the constants' gcd

// Splits `u` into (rest, constant) if it is `rest op constant`; otherwise returns (u, identity element of op).
std::pair<UOp, Const> pop_const(UOp u, Op op = Op::ADD);

// sum and prod combine one or more operands from left to right: with ADD and MUL, for bools with OR and AND.
UOp sum(UOpSpan terms);
UOp prod(UOpSpan factors);
// Python's sum(terms) and math.prod(factors) of UOps, which begin with a constant: 0 + a + b and 1 * a * b.
UOp sum_from_zero(UOpSpan terms);
UOp prod_from_one(UOpSpan factors);

}  // namespace tgc
