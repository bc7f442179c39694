// Integer algebra of expressions: factors, exact division, sums and products (tinygrad ops.py: is_increasing,
// const_factor, divides, pop_const, gcd, divide_exact, sum, prod, overflows, and Python's own sum and math.prod over
// UOps). All are for expressions of integers; a constant that is no integer throws Failure, as Python raises. The empty
// UOp is Python's None: not known to divide.
#pragma once
#include <utility>

#include "lib/uop/uop.h"

namespace tgc {

// The bounds of an integer expression; throw Failure when they are no integers.
Int int_vmin(UOp u);
Int int_vmax(UOp u);
bool overflows(UOp u, DType dtype);  // whether a value of u may not fit dtype

bool is_increasing(UOp u);      // u grows with everything in it; false when not sure
Int const_factor(UOp u);        // the largest integer known to divide u, up to its sign
bool is_divisible(UOp u, Int v);  // whether divides(u, v) is something
UOp divides(UOp u, Int v);      // u / v when v is known to divide u
UOp divide_exact(UOp u, UOp v); // the same for an expression
UOp gcd(UOpSpan uops);          // a common divisor: the shared factors, and last the gcd of the constant ones

// u as (rest, constant) when it is rest op constant, else (u, the op's identity).
std::pair<UOp, Const> pop_const(UOp u, Op op = Op::ADD);

// The terms, one at least, folded from the left: bools by OR and AND.
UOp sum(UOpSpan terms);
UOp prod(UOpSpan factors);
// Python's sum(terms) and math.prod(factors), one at least: these begin with a constant, 0 + a + b and 1 * a * b.
UOp sum_from_zero(UOpSpan terms);
UOp prod_from_one(UOpSpan factors);

}  // namespace tgc
