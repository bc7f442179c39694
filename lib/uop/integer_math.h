// Functions on integer expressions: factors, exact division, sums, products (uop/ops.py: is_increasing, const_factor,
// divides, pop_const, gcd, divide_exact, sum, prod, overflows). They throw Failure if a constant that they use as an
// integer is not an integer. An empty UOp as a result stands for Python's None.
#pragma once
#include <utility>

#include "lib/uop/uop.h"

namespace tgc {

// Return the least and the greatest value of an integer expression. Throw Failure if the bound is not an integer.
Int int_vmin(UOp u);
Int int_vmax(UOp u);
bool may_overflow(UOp u, DType dtype);  // returns true if the bounds of `u` exceed those of `dtype`

bool is_increasing(UOp u);      // returns true if `u` provably never decreases when a variable grows
Int const_factor(UOp u);        // returns an integer that is known to divide `u`; may be negative
bool is_divisible(UOp u, Int v);  // returns true if divides(u, v) is not empty
UOp divides(UOp u, Int v);      // returns u / v if `v` is known to divide `u`, else the empty UOp
UOp divide_exact(UOp u, UOp v); // returns u / v if `v` is known to divide `u`, else the empty UOp
int log2_exact(UOp u);          // returns k if `u` is the integer constant 2**k with k < 64, else -1
UOp gcd(UOpSpan uops);          // returns the product of the common factors and the gcd of the constant factors

// Returns (rest, constant) if `u` is `rest op constant`; otherwise (u, identity element of op).
std::pair<UOp, Const> pop_const(UOp u, Op op = Op::ADD);

// Combine one or more operands from left to right: sum with ADD (OR for bools), prod with MUL (AND for bools).
UOp sum(UOpSpan terms);
UOp prod(UOpSpan factors);
// Python's sum(terms) and math.prod(factors) of UOps. The results begin with a constant: 0 + a + b and 1 * a * b.
UOp sum_from_zero(UOpSpan terms);
UOp prod_from_one(UOpSpan factors);

}  // namespace tgc
