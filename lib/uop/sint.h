// Sint: tinygrad's sint, a size that is an integer or, in symbolic shapes, a UOp. Arithmetic on two integers returns an
// integer; arithmetic with a UOp builds nodes.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "lib/uop/uop.h"

namespace tgc {

class Sint {
 public:
  Sint() : value_(0) {}
  Sint(int v) : value_(v) {}
  Sint(int64_t v) : value_(v) {}
  Sint(Int v) : value_(v) {}
  Sint(UOp u) : value_(u) {}
  explicit Sint(Arg a) : value_(a) {}  // requires an integer or a UOp

  bool is_int() const { return !value_.is_uop(); }
  bool is_uop() const { return value_.is_uop(); }
  Int as_int() const { return value_.as_int(); }
  UOp uop() const { return value_.uop(); }
  Arg arg() const { return value_; }
  Int vmin() const { return is_int() ? as_int() : uop().vmin().as_int(); }
  Int vmax() const { return is_int() ? as_int() : uop().vmax().as_int(); }
  // Returns the integer. Throws Failure "WHAT is symbolic" for a UOp, "WHAT is out of range" for an integer too large.
  int64_t int64_or_throw(const char* what) const;

  friend bool operator==(Sint a, Sint b) { return a.value_ == b.value_; }
  std::string str() const;

 private:
  Arg value_;
};

using Shape = std::span<const Sint>;
using ShapeVec = std::vector<Sint>;

Sint operator+(Sint a, Sint b);
Sint operator-(Sint a, Sint b);
Sint operator*(Sint a, Sint b);
Sint floor_div(Sint a, Sint b);  // returns Python's a // b of integers; with a UOp, an IDIV node
Sint mod(Sint a, Sint b);
Sint neg(Sint a);

bool is_same_shape(Shape a, Shape b);
Sint prod(Shape shape);             // multiplies the sizes from left to right; returns 1 for an empty shape
std::string str(Shape shape);       // returns text for messages, such as "(2, 3)"

// Simplifies the boolean `cond`. Returns its value if the bounds of the result determine it, else `otherwise`
// (ops.py:resolve).
bool resolve(UOp cond, bool otherwise = true);
// Return a < b, a <= b and a != b. If `a` or `b` is a UOp, the result is resolve() of the comparison.
bool resolve_lt(Sint a, Sint b, bool otherwise = true);
bool resolve_le(Sint a, Sint b, bool otherwise = true);
bool resolve_ne(Sint a, Sint b, bool otherwise = true);
// Returns a != b. Throws Failure if simplification does not decide it, because Python's `if a != b` raises then.
bool py_ne(Sint a, Sint b);

Sint ssimplify(Sint s);  // simplifies a UOp; returns an integer if the result is constant
UOp to_uop(Sint s, Graph& graph, DType dtype = dtypes::index);  // makes a CONST of an integer; casts a UOp
// Return the greatest (smax) or the least (smin) of one or more values, simplified (ops.py: smax, smin).
Sint smax(std::span<const Sint> values);
Sint smin(std::span<const Sint> values);
Sint smax(Sint a, Sint b);
Sint smin(Sint a, Sint b);

}  // namespace tgc
