// Sint: tinygrad's sint, a size that is an integer or, with symbolic shapes, a UOp. Arithmetic of two integers is
// integer arithmetic; with a UOp on either side it builds nodes. Comparisons that Python would resolve through
// simplification go by `resolve`.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "lib/uop/uop.h"

namespace tgc {

class Sint {
 public:
  Sint() : a_(0) {}
  Sint(int v) : a_(v) {}
  Sint(int64_t v) : a_(v) {}
  Sint(Int v) : a_(v) {}
  Sint(UOp u) : a_(u) {}
  explicit Sint(Arg a) : a_(a) {}  // of an integer or a UOp

  bool is_int() const { return !a_.is_uop(); }
  bool is_uop() const { return a_.is_uop(); }
  Int as_int() const { return a_.as_int(); }
  UOp uop() const { return a_.uop(); }
  Arg arg() const { return a_; }
  Int vmin() const { return is_int() ? as_int() : uop().vmin().as_int(); }
  Int vmax() const { return is_int() ? as_int() : uop().vmax().as_int(); }
  // The integer; throws Failure "WHAT is symbolic" or "... out of range".
  int64_t int64_or_throw(const char* what) const;

  // Python's == of sints: equal integers, or the same UOp.
  friend bool operator==(Sint a, Sint b) { return a.a_ == b.a_; }
  std::string str() const;  // an integer, or the UOp's render()

 private:
  Arg a_;
};

using Shape = std::span<const Sint>;
using ShapeVec = std::vector<Sint>;

Sint operator+(Sint a, Sint b);
Sint operator-(Sint a, Sint b);
Sint operator*(Sint a, Sint b);
Sint floor_div(Sint a, Sint b);  // Python's //: of UOps an IDIV
Sint mod(Sint a, Sint b);
Sint neg(Sint a);

bool same_shape(Shape a, Shape b);  // tuple equality
Sint prod(Shape shape);             // 1 when empty, multiplied left to right
std::string str(Shape shape);       // "(2, 3)", for messages

// The boolean UOp's value when simplification settles it, else `otherwise` (ops.py resolve).
bool resolve(UOp cond, bool otherwise = true);
// bool(a < b) and so on: of integers at once; of UOps through `resolve`.
bool resolve_lt(Sint a, Sint b, bool otherwise = true);
bool resolve_le(Sint a, Sint b, bool otherwise = true);
bool resolve_ne(Sint a, Sint b, bool otherwise = true);
// bool(a != b) outside resolve: throws Failure when it is not settled, as Python's `if a != b` raises.
bool py_ne(Sint a, Sint b);

Sint ssimplify(Sint s);
UOp to_uop(Sint s, Graph& graph, DType dtype = dtypes::index);  // sint_to_uop
Sint smax(std::span<const Sint> values);
Sint smin(std::span<const Sint> values);
Sint smax(Sint a, Sint b);
Sint smin(Sint a, Sint b);

}  // namespace tgc
