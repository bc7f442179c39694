#include "lib/uop/sint.h"

#include <algorithm>

#include "lib/uop/graph.h"
#include "lib/uop/render.h"

namespace tgc {

int64_t Sint::int64_or_throw(const char* what) const {
  if (is_uop()) throw Failure(std::string(what) + " is symbolic: " + str());
  return as_int().int64_or_throw(what);
}

std::string Sint::str() const { return is_int() ? as_int().str() : render(uop()); }

namespace {
template <class OnInts, class OnUOps>
Sint apply_binary(Sint a, Sint b, OnInts on_ints, OnUOps on_uops) {
  if (a.is_int() && b.is_int()) return on_ints(a.as_int(), b.as_int());
  if (a.is_int()) return on_uops(b.uop().const_like(a.as_int()), b.uop());
  if (b.is_int()) return on_uops(a.uop(), a.uop().const_like(b.as_int()));
  return on_uops(a.uop(), b.uop());
}
}  // namespace

Sint operator+(Sint a, Sint b) {
  return apply_binary(a, b, [](Int x, Int y) { return Sint(x + y); }, [](UOp x, UOp y) { return Sint(x + y); });
}
Sint operator-(Sint a, Sint b) { return a + neg(b); }
Sint operator*(Sint a, Sint b) {
  return apply_binary(a, b, [](Int x, Int y) { return Sint(x * y); }, [](UOp x, UOp y) { return Sint(x * y); });
}
Sint floor_div(Sint a, Sint b) {
  return apply_binary(
      a, b, [](Int x, Int y) { return Sint(floor_div(x, y)); }, [](UOp x, UOp y) { return Sint(x / y); });
}
Sint mod(Sint a, Sint b) {
  return apply_binary(
      a, b, [](Int x, Int y) { return Sint(floor_mod(x, y)); }, [](UOp x, UOp y) { return Sint(x % y); });
}
Sint neg(Sint a) { return a.is_int() ? Sint(-a.as_int()) : Sint(-a.uop()); }

bool is_same_shape(Shape a, Shape b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

Sint prod(Shape shape) {
  Sint out = 1;
  for (Sint s : shape) out = out * s;
  return out;
}

std::string str(Shape shape) {
  std::string out = "(";
  for (size_t i = 0; i < shape.size(); i++) out += (i ? ", " : "") + shape[i].str();
  return out + (shape.size() == 1 ? ",)" : ")");
}

bool resolve(UOp cond, bool otherwise) {
  UOp s = cond.simplify();
  Const least = s.vmin();
  return py_equal(least, s.vmax()) ? least.truthy() : otherwise;
}

namespace {
template <class OnInts, class OnUOps>
bool resolve_comparison(Sint a, Sint b, bool otherwise, OnInts on_ints, OnUOps on_uops) {
  if (a.is_int() && b.is_int()) return on_ints(a.as_int(), b.as_int());
  if (a.is_int()) return resolve(on_uops(b.uop().const_like(a.as_int()), b.uop()), otherwise);
  if (b.is_int()) return resolve(on_uops(a.uop(), a.uop().const_like(b.as_int())), otherwise);
  return resolve(on_uops(a.uop(), b.uop()), otherwise);
}
}  // namespace

bool resolve_lt(Sint a, Sint b, bool otherwise) {
  return resolve_comparison(a, b, otherwise, [](Int x, Int y) { return x < y; }, [](UOp x, UOp y) { return x.lt(y); });
}
bool resolve_le(Sint a, Sint b, bool otherwise) {
  return resolve_comparison(a, b, otherwise, [](Int x, Int y) { return x <= y; }, [](UOp x, UOp y) { return x.le(y); });
}
bool resolve_ne(Sint a, Sint b, bool otherwise) {
  return resolve_comparison(a, b, otherwise, [](Int x, Int y) { return x != y; }, [](UOp x, UOp y) { return x.ne(y); });
}

bool py_ne(Sint a, Sint b) {
  if (a.is_int() && b.is_int()) return a.as_int() != b.as_int();
  if (a == b) return false;
  bool if_unknown = resolve_ne(a, b, true);
  if (if_unknown && !resolve_ne(a, b, false)) throw Failure("cannot tell whether " + a.str() + " equals " + b.str());
  return if_unknown;
}

Sint ssimplify(Sint s) {
  if (s.is_int()) return s;
  UOp u = s.uop().simplify();
  return u.is_const() ? Sint(u.arg().as_int()) : Sint(u);
}

UOp to_uop(Sint s, Graph& graph, DType dtype) {
  return s.is_int() ? graph.constant(dtype, s.as_int()) : s.uop().cast(dtype);
}

namespace {
Sint smax_or_smin(std::span<const Sint> values, UOp (UOp::*combine)(UOp) const, bool largest) {
  std::vector<Sint> all;
  std::optional<Int> best;
  for (Sint v : values) {
    if (v.is_uop()) all.push_back(v);
    else if (!best || (largest ? *best < v.as_int() : v.as_int() < *best)) best = v.as_int();
  }
  if (best) all.push_back(*best);
  Sint out = all[0];
  for (size_t i = 1; i < all.size(); i++) {
    UOp a = out.uop();
    out = (a.*combine)(all[i].is_int() ? a.const_like(all[i].as_int()) : all[i].uop());
  }
  return ssimplify(out);
}
}  // namespace

Sint smax(std::span<const Sint> values) { return smax_or_smin(values, &UOp::maximum, true); }
Sint smin(std::span<const Sint> values) { return smax_or_smin(values, &UOp::minimum, false); }
Sint smax(Sint a, Sint b) { return smax(std::array{a, b}); }
Sint smin(Sint a, Sint b) { return smin(std::array{a, b}); }

}  // namespace tgc
