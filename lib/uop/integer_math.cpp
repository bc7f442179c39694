#include "lib/uop/integer_math.h"

#include <algorithm>

#include "lib/uop/exec_alu.h"
#include "lib/uop/graph.h"

namespace tgc {
namespace {

Int to_int(Const c, UOp of) {
  if (!c.is_integral())
    throw Failure(c.str() + " is not an integer, in an expression of " + std::string(of.dtype().repr()));
  return c.as_int();
}

Int int_value(UOp constant) { return to_int(constant.arg().to_const(), constant); }

bool is_zero(Int a) { return a == 0; }

// A multiset in the order of first insertion (Python's collections.Counter). Counts may be negative.
class Counter {
 public:
  Counter() = default;
  explicit Counter(const std::vector<UOp>& items) {
    for (UOp u : items) add(u, 1);
  }
  void add(UOp u, int n) {
    for (auto& [item, count] : counts_)
      if (item == u) {
        count += n;
        return;
      }
    counts_.emplace_back(u, n);
  }
  int count(UOp u) const {
    for (auto& [item, count] : counts_)
      if (item == u) return count;
    return 0;
  }
  Counter intersection(const Counter& other) const {
    Counter out;
    for (auto& [item, n] : counts_)
      if (int both = std::min(n, other.count(item)); both > 0) out.add(item, both);
    return out;
  }
  bool has_no_negative_counts() const {
    return std::all_of(counts_.begin(), counts_.end(), [](auto& c) { return c.second >= 0; });
  }
  void append_elements(std::vector<UOp>& out) const {
    for (auto& [item, n] : counts_) out.insert(out.end(), size_t(std::max(n, 0)), item);
  }

 private:
  std::vector<std::pair<UOp, int>> counts_;
};

}  // namespace

Int int_vmin(UOp u) { return to_int(u.vmin(), u); }
Int int_vmax(UOp u) { return to_int(u.vmax(), u); }

bool may_overflow(UOp u, DType dtype) {
  return py_less(u.vmin(), dtypes::min(dtype)) || py_less(dtypes::max(dtype), u.vmax());
}

bool is_increasing(UOp u) {
  if (u.in(ops::Irreducible)) return true;
  if (u.is(Op::ADD)) return is_increasing(u.src(0)) && is_increasing(u.src(1));
  if (u.in({Op::MUL, Op::IDIV}) && u.src(1).is_const() && int_value(u.src(1)) >= 0) return is_increasing(u.src(0));
  return false;
}

Int const_factor(UOp u) {
  switch (u.op()) {
    case Op::CONST: return int_value(u);
    case Op::VCONST: {
      Int out = 0;
      for (Arg v : u.arg().items()) out = gcd(out, to_int(v.to_const(), u));
      return out;
    }
    case Op::ADD: return gcd(const_factor(u.src(0)), const_factor(u.src(1)));
    case Op::MUL: return u.src(0).is_const() ? int_value(u.src(0)) : u.src(1).is_const() ? int_value(u.src(1)) : Int(1);
    default: return 1;
  }
}

int log2_exact(UOp u) {
  if (!u.is_const() || !u.arg().is_integral()) return -1;
  Int v = u.arg().as_int();
  if (v <= 0) return -1;
  auto k = int(v.bit_length()) - 1;
  return k < 64 && v == Int::pow2(uint32_t(k)) ? k : -1;
}

bool is_divisible(UOp u, Int v) {
  if (v == 1) return true;
  switch (u.op()) {
    case Op::CONST: return is_zero(floor_mod(int_value(u), v));
    case Op::VCONST: {
      auto items = u.arg().items();
      return std::all_of(items.begin(), items.end(),
                         [&](Arg item) { return is_zero(floor_mod(to_int(item.to_const(), u), v)); });
    }
    case Op::ADD: return is_divisible(u.src(0), v) && is_divisible(u.src(1), v);
    case Op::MUL: return is_divisible(u.src(0), v) || is_divisible(u.src(1), v);
    default: return false;
  }
}

UOp divides(UOp u, Int v) {
  if (v == 1) return u;
  switch (u.op()) {
    case Op::CONST: return is_zero(floor_mod(int_value(u), v)) ? u.const_like(floor_div(int_value(u), v)) : UOp();
    case Op::VCONST: {
      std::vector<Const> out;
      for (Arg item : u.arg().items()) {
        Int i = to_int(item.to_const(), u);
        if (!is_zero(floor_mod(i, v))) return {};
        out.push_back(floor_div(i, v));
      }
      return u.const_like(out);
    }
    case Op::ADD:
      if (UOp d0 = divides(u.src(0), v))
        if (UOp d1 = divides(u.src(1), v)) return d0 + d1;
      return {};
    case Op::MUL:
      if (UOp d0 = divides(u.src(0), v)) return d0 * u.src(1);
      if (UOp d1 = divides(u.src(1), v)) return u.src(0) * d1;
      return {};
    default: return {};
  }
}

UOp divide_exact(UOp u, UOp v) {
  if (u == v) return u.const_like(1);
  if (v.is_const()) return divides(u, int_value(v));
  if (u.is(Op::ADD)) {
    if (UOp s0 = divide_exact(u.src(0), v))
      if (UOp s1 = divide_exact(u.src(1), v)) return s0 + s1;
    return {};
  }
  if (!u.is(Op::MUL)) return {};
  auto [factors, scale] = pop_const(u, Op::MUL);
  auto [by_factors, by_scale] = pop_const(v, Op::MUL);
  Counter left(split_uop(factors, Op::MUL));
  for (UOp f : split_uop(by_factors, Op::MUL)) left.add(f, -1);
  Int n = to_int(scale, u), d = to_int(by_scale, v);
  if (!is_zero(floor_mod(n, d)) || !left.has_no_negative_counts()) return {};
  std::vector<UOp> out;
  left.append_elements(out);
  out.push_back(u.const_like(floor_div(n, d)));
  return prod_from_one(out);
}

UOp gcd(UOpSpan uops) {
  Int factor = 0;
  UOp first;
  Counter common;
  for (UOp u : uops) {
    Int f = const_factor(u);
    UOp term = divides(u, f);
    if (!term) throw Failure("a factor of " + f.str() + " does not divide its expression");
    factor = gcd(factor, f);
    Counter factors(split_uop(term, Op::MUL));
    common = first ? common.intersection(factors) : std::move(factors);
    if (!first) first = term;
  }
  std::vector<UOp> out;
  common.append_elements(out);
  out.push_back(first.const_like(factor));
  return prod_from_one(out);
}

std::pair<UOp, Const> pop_const(UOp u, Op op) {
  if (u.is(op) && u.src(1).is_const()) return {u.src(0), u.src(1).arg().to_const()};
  return {u, identity_element(op, u.dtype())};
}

UOp sum(UOpSpan terms) {
  bool bools = terms[0].dtype() == dtypes::bool_;
  UOp out = terms[0];
  for (UOp t : terms.subspan(1)) out = bools ? out | t : out + t;
  return out;
}

UOp prod(UOpSpan factors) {
  bool bools = factors[0].dtype() == dtypes::bool_;
  UOp out = factors[0];
  for (UOp f : factors.subspan(1)) out = bools ? out & f : out * f;
  return out;
}

UOp sum_from_zero(UOpSpan terms) {
  UOp out = Const(0) + terms[0];
  for (UOp t : terms.subspan(1)) out = out + t;
  return out;
}

UOp prod_from_one(UOpSpan factors) {
  UOp out = Const(1) * factors[0];
  for (UOp f : factors.subspan(1)) out = out * f;
  return out;
}

}  // namespace tgc
