#include "lib/prove/contracts.h"

#include <algorithm>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "lib/prove/launch_contract.h"
#include "lib/rewrite/rewrite.h"
#include "lib/uop/exec_alu.h"
#include "lib/uop/facts.h"
#include "lib/uop/graph.h"
#include "lib/validate/isolated_expr.h"

namespace tgc {
namespace {

constexpr int64_t kMostIterations = 1 << 20;

bool is_loop(UOp u) { return u.in({Op::RANGE, Op::SPECIAL}); }

// Evaluates integer expressions of loops for given values of the loops. run() returns false for an op that is not
// supported, an overflow, or a division by zero.
class LoopEvaluator {
 public:
  explicit LoopEvaluator(std::span<const UOp> roots) {
    std::unordered_map<UOp, size_t> places;
    for (UOp root : roots)
      for (UOp u : toposort(root)) {
        if (!places.try_emplace(u, steps_.size()).second) continue;
        Step step{u, {}};
        for (size_t i = 0; i < std::min<size_t>(3, u.num_src()); i++) step.src[i] = places.at(u.src(i));
        if (is_loop(u)) loops_.push_back(steps_.size());
        steps_.push_back(step);
      }
    values_.resize(steps_.size());
    for (UOp root : roots) roots_.push_back(places.at(root));
  }
  size_t num_loops() const { return loops_.size(); }
  UOp loop(size_t i) const { return steps_[loops_[i]].node; }
  void set(size_t loop, int64_t value) { values_[loops_[loop]] = value; }
  bool run() {
    for (size_t i = 0; i < steps_.size(); i++)
      if (!is_loop(steps_[i].node) && !evaluate(steps_[i], values_[i])) return false;
    return true;
  }
  int64_t root(size_t i) const { return values_[roots_[i]]; }

 private:
  struct Step {
    UOp node;
    size_t src[3];  // indices in steps_ of the first three sources
  };
  bool evaluate(const Step& step, int64_t& out) const {
    const UOp u = step.node;
    const int64_t a = values_[step.src[0]], b = values_[step.src[1]];
    switch (u.op()) {
      case Op::CONST: return u.arg().is_int() && u.arg().as_int().is_small() && (out = u.arg().small_int(), true);
      case Op::ADD: return !__builtin_add_overflow(a, b, &out);
      case Op::MUL: return !__builtin_mul_overflow(a, b, &out);
      case Op::IDIV: return b != 0 && (out = a / b, true);
      case Op::MOD: return b != 0 && (out = a % b, true);
      case Op::SUB: return !__builtin_sub_overflow(a, b, &out);
      case Op::CMPLT: return out = a < b, true;
      case Op::CMPNE: return out = a != b, true;
      case Op::MAX: return out = std::max(a, b), true;
      case Op::WHERE: return out = a ? b : values_[step.src[2]], true;
      case Op::CAST: return dtypes::is_int(u.dtype()) && dtypes::is_int(u.src(0).dtype()) && (out = a, true);
      default: return false;
    }
  }

  std::vector<Step> steps_;  // the nodes, sources first
  std::vector<int64_t> values_;
  std::vector<size_t> loops_, roots_;
};

// Returns the size of a loop; -1 if it is not constant.
int64_t constant_size(UOp loop) {
  if (!loop.num_src() || !dtypes::is_int(loop.src(0).dtype()) || !py_equal(loop.src(0).vmin(), loop.src(0).vmax()))
    return -1;
  auto size = loop.src(0).vmin().to_int().to_int64();
  return size ? *size : -1;
}

// Appends the operands of nested ops `op`, from left to right, to `out`.
void operands_of(UOp u, Op op, std::vector<UOp>& out) {
  std::vector<UOp> stack{u};
  while (!stack.empty()) {
    UOp x = stack.back();
    stack.pop_back();
    if (x.is(op)) stack.insert(stack.end(), x.src().rbegin(), x.src().rend());
    else out.push_back(x);
  }
}

UOp behind_after(UOp u) {
  while (u.is(Op::AFTER)) u = u.src(0);
  return u;
}

std::unordered_set<UOp> set_of(std::span<const UOp> nodes) { return {nodes.begin(), nodes.end()}; }

}  // namespace

namespace {

// If `u` is a number whose digits are loops, such as a * 12 + b * 4 + c, returns how many values it has; else 0. The
// sizes of the loops must be constant.
int64_t number_size(UOp u) {
  std::vector<UOp> terms;
  operands_of(u, Op::ADD, terms);
  std::vector<std::pair<int64_t, int64_t>> digits;  // pairs of the factor and the size of a loop
  std::unordered_set<UOp> loops;
  for (UOp term : terms) {
    const bool is_scaled = term.is(Op::MUL) && term.src(1).is_const() && term.src(1).arg().is_int();
    const UOp loop = is_scaled ? term.src(0) : term;
    auto factor = is_scaled ? term.src(1).arg().as_int().to_int64() : std::optional<int64_t>(1);
    if (!is_loop(loop) || !factor || !loops.insert(loop).second) return 0;
    digits.emplace_back(*factor, constant_size(loop));
  }
  std::ranges::sort(digits);
  int64_t next = 1;
  for (auto [factor, size] : digits)
    if (size <= 0 || factor != next || __builtin_mul_overflow(next, size, &next)) return 0;
  return next;
}

// A digit of a number: (of / divisor) % size.
struct Digit {
  UOp of;             // a loop, or a number whose digits are loops
  int64_t whole = 0;  // how many values `of` has
  int64_t divisor = 1, size = 0;
};

std::optional<Digit> digit_of(UOp u) {
  if (is_loop(u)) return Digit{u, constant_size(u), 1, constant_size(u)};
  if (u.is(Op::ADD)) return Digit{u, number_size(u), 1, number_size(u)};
  if (!u.in({Op::IDIV, Op::MOD}) || !u.src(1).is_const() || !u.src(1).arg().is_int()) return {};
  auto by = u.src(1).arg().as_int().to_int64();
  auto of = digit_of(u.src(0));
  if (!of || of->size <= 0 || !by || *by <= 0 || of->size % *by) return {};
  if (u.is(Op::MOD)) of->size = *by;
  else of->divisor *= *by, of->size /= *by;
  return of;
}

// Returns true if the targets of the map are the digits of one number: then each value of the number has other digits,
// and all combinations of digits occur.
bool are_digits(const RangeMap& map) {
  std::vector<Digit> digits;
  for (auto& [range, to] : map) {
    auto digit = digit_of(to);
    if (!digit || digit->size <= 0 || digit->size != constant_size(range)) return false;
    digits.push_back(*digit);
  }
  std::ranges::sort(digits, {}, [](const Digit& d) { return std::pair(d.divisor, d.size); });
  int64_t next = 1;
  for (const Digit& d : digits)
    if (!(d.of == digits[0].of) || d.divisor != next || __builtin_mul_overflow(next, d.size, &next)) return false;
  return next == digits[0].whole;
}

// Returns true if `to` is a number whose digits are loops, and has as many values as the loop `range`.
bool is_number(UOp range, UOp to) { return number_size(to) > 0 && number_size(to) == constant_size(range); }

// Enumerates the values of the loops. Returns true if each combination gives other indices of the ranges, and all
// indices occur. If not, sets `wrong` to an iteration that shows it. Returns false without setting `wrong` if a size is
// not constant, if there are too many iterations, or if an index cannot be evaluated.
bool is_one_to_one(const RangeMap& map, std::optional<WrongIteration>* wrong = nullptr) {
  std::vector<UOp> targets;
  int64_t before = 1, after = 1;
  for (auto& [range, to] : map) {
    const int64_t n = constant_size(range);
    if (n <= 0 || __builtin_mul_overflow(before, n, &before)) return false;
    targets.push_back(to);
  }
  LoopEvaluator evaluator(targets);
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < evaluator.num_loops(); i++) {
    sizes.push_back(constant_size(evaluator.loop(i)));
    if (sizes.back() <= 0 || __builtin_mul_overflow(after, sizes.back(), &after)) return false;
  }
  if ((before != after && !wrong) || std::max(before, after) > kMostIterations) return false;
  std::vector<bool> hit(size_t(before), false);
  auto iteration = [&](int64_t index, bool is_lost) {
    WrongIteration out{.at = {}, .is_lost = is_lost};
    for (size_t i = map.size(); i-- > 0;) {
      const int64_t size = constant_size(map[i].first);
      out.at.emplace_back(map[i].first, index % size), index /= size;
    }
    return out;
  };
  bool is_good = before == after;
  for (int64_t n = 0; n < after; n++) {
    int64_t rest = n;
    for (size_t i = 0; i < sizes.size(); i++) evaluator.set(i, rest % sizes[i]), rest /= sizes[i];
    if (!evaluator.run()) return false;
    int64_t index = 0;
    bool is_inside = true;
    for (size_t i = 0; i < map.size(); i++) {
      const int64_t v = evaluator.root(i), size = constant_size(map[i].first);
      is_inside &= v >= 0 && v < size;
      if (is_inside) index = index * size + v;
    }
    const bool is_new = is_inside && !hit[size_t(index)];
    is_good &= is_new;
    if (!is_good && !wrong) return false;
    if (is_inside && !is_new && !*wrong) *wrong = iteration(index, false);
    if (is_inside) hit[size_t(index)] = true;
  }
  if (auto lost = std::ranges::find(hit, false); wrong && lost != hit.end())
    *wrong = iteration(lost - hit.begin(), true);
  return is_good;
}

}  // namespace

bool is_one_to_one_into(UOp index, int64_t size) {
  const std::vector<UOp> targets{index};
  LoopEvaluator evaluator(targets);
  std::vector<int64_t> sizes;
  int64_t all = 1;
  for (size_t i = 0; i < evaluator.num_loops(); i++) {
    sizes.push_back(constant_size(evaluator.loop(i)));
    if (sizes.back() <= 0 || __builtin_mul_overflow(all, sizes.back(), &all) || all > kMostIterations) return false;
  }
  std::vector<bool> hit(size_t(size), false);
  for (int64_t n = 0; n < all; n++) {
    int64_t rest = n;
    for (size_t i = 0; i < sizes.size(); i++) evaluator.set(i, rest % sizes[i]), rest /= sizes[i];
    if (!evaluator.run()) return false;
    const int64_t v = evaluator.root(0);
    if (v < 0 || v >= size || hit[size_t(v)]) return false;
    hit[size_t(v)] = true;
  }
  return true;
}

// Splits the map into parts that share no loop and can be decided separately.
static std::vector<RangeMap> parts_of(const RangeMap& map) {
  std::vector<RangeMap> parts;
  std::vector<std::unordered_set<UOp>> loops;
  for (auto& [range, to] : map) {
    RangeMap part{{range, to}};
    std::unordered_set<UOp> own;
    for (UOp u : toposort(to))
      if (is_loop(u)) own.insert(u);
    for (size_t i = parts.size(); i-- > 0;) {
      if (std::ranges::none_of(loops[i], [&](UOp u) { return own.contains(u); })) continue;
      part.insert(part.end(), parts[i].begin(), parts[i].end());
      own.insert(loops[i].begin(), loops[i].end());
      parts.erase(parts.begin() + long(i)), loops.erase(loops.begin() + long(i));
    }
    parts.push_back(std::move(part)), loops.push_back(std::move(own));
  }
  return parts;
}

std::optional<WrongIteration> wrong_iteration(const RangeMap& map) {
  std::optional<WrongIteration> out;
  for (const RangeMap& part : parts_of(map))
    if (!out || !out->is_lost) (void)is_one_to_one(part, &out);
  return out;
}

bool is_same_iterations(const RangeMap& map) {
  return std::ranges::all_of(parts_of(map), [](const RangeMap& part) {
    const bool is_one = part.size() == 1;
    return (is_one && (is_number(part[0].first, part[0].second) || is_as_long(part[0].first, part[0].second))) ||
           are_digits(part) || is_one_to_one(part);
  });
}

bool is_same_memory(UOp before, UOp after) {
  if (!before.in(ops::Defines) || !after.is(Op::CAST)) return false;
  UOp now = after.src(0);
  DType a = before.dtype(), b = now.dtype();
  return now.op() == before.op() && now.arg() == before.arg() && after.dtype() == a && a.is_ptr() && b.is_ptr() &&
         !a.is_image() && a.addrspace() == b.addrspace() && a.base().scalar() == b.base() &&
         a.size() * a.base().count() == b.size();
}

namespace {

// Returns true if the operands have the same forms, in each lane, as the terms of the REDUCE.
bool are_terms(UOp reduce, std::span<const UOp> operands, LaneForms& lanes) {
  const bool is_scalar = reduce.src(0).dtype().count() == 1 && reduce.num_src() > 1;
  for (int lane = 0; lane < reduce.dtype().count(); lane++) {
    std::vector<LaneForms::Form> expected, actual;
    if (is_scalar) {  // the term may be a sum itself, whose operands are the terms
      std::vector<UOp> parts;
      operands_of(reduce.src(0), reduce.arg().op(), parts);
      for (UOp u : parts) expected.push_back(lanes.value(u, 0, {}));
    } else {
      expected = lanes.terms(reduce, lane, {});
    }
    for (UOp u : operands) actual.push_back(lanes.value(u, u.dtype().count() > 1 ? lane : 0, {}));
    std::ranges::sort(expected), std::ranges::sort(actual);
    if (expected != actual) return false;
  }
  return true;
}

}  // namespace

std::optional<int64_t> constant_integer(UOp u) {
  if (!u || !dtypes::is_int(u.dtype().scalar())) return {};
  const auto all = toposort(u);
  // the bounds of an expression that depends on nothing are its value
  if (!std::ranges::all_of(all, [](UOp x) { return x.is(Op::CONST) ? !x.is_invalid() : x.in(ops::ALU); })) return {};
  if (!py_equal(u.vmin(), u.vmax()) || !u.vmin().is_int()) return {};
  return u.vmin().to_int().to_int64();
}

namespace {

// Finds the stores to one element of the register of a REDUCE.
class RegisterElement {
 public:
  RegisterElement(UOp reg, int64_t element) : reg_(reg), element_(element) {}

  // Returns true if `u` is the element, without a gate.
  bool is_place(UOp u) const {
    return u.is(Op::INDEX) && u.num_src() == 2 && behind_after(u.src(0)) == reg_ &&
           constant_integer(u.src(1)) == element_;
  }
  // Returns the only store to the element below `root`; null if there is none, if there are several, or if another
  // store may write the element.
  UOp only_store_below(UOp root) const {
    UOp out;
    for (UOp u : toposort(root)) {
      if (!u.is(Op::STORE) || !in_backward_slice_with_self(u.src(0), reg_)) continue;
      const UOp place = u.src(0);
      const bool is_element = place.is(Op::INDEX) && place.num_src() == 2 && behind_after(place.src(0)) == reg_;
      const auto element = is_element ? constant_integer(place.src(1)) : std::nullopt;
      if (!element) return {};
      if (*element != element_) continue;
      if (out || u.num_src() != 2) return {};
      out = u;
    }
    return out;
  }

 private:
  UOp reg_;
  int64_t element_;
};

// Returns true if `first`, the store that sets the register of a REDUCE, runs outside of the REDUCE's loops and in each
// iteration of the loops around the REDUCE, and if the loops around `end`, which adds the terms, are around `first`.
bool is_once_for(UOp first, UOp reduce, UOp end, const std::unordered_set<UOp>& loops) {
  if (std::ranges::any_of(toposort(first), [&](UOp u) { return loops.contains(u); })) return false;
  auto is_around = [&](UOp r) { return lies_in(first, r); };
  return std::ranges::all_of(reduce.ranges(), is_around) && std::ranges::all_of(end.ranges(), is_around);
}

}  // namespace

bool is_accumulator_of(UOp before, UOp after, LaneForms& lanes) try {
  if (before.is(Op::REDUCE) && before.num_src() == 1 && after.is(before.arg().op())) {
    std::vector<UOp> operands;
    operands_of(after, before.arg().op(), operands);
    return are_terms(before, operands, lanes);
  }
  if (!before.is(Op::REDUCE) || !after.is(Op::INDEX) || !after.src(0).is(Op::AFTER)) return false;
  const Op op = before.arg().op();
  const UOp reg = behind_after(after.src(0)), end = after.src(0).src(1);
  const auto number = after.num_src() == 2 ? constant_integer(after.src(1)) : std::nullopt;
  if (!reg.is(Op::DEFINE_REG) || after.src(0).num_src() != 2 || !end.is(Op::END) || !number) return false;
  if (after.src(0).src(0) != reg || in_backward_slice_with_self(before, reg)) return false;
  const RegisterElement element(reg, *number);
  std::unordered_set<UOp> loops;
  for (UOp s : before.src().subspan(1))
    if (s.is(Op::RANGE)) loops.insert(s);
    else return false;
  if (set_of(end.src().subspan(1)) != loops) return false;
  // the loops must store to the element once
  UOp store;
  const UOp stores = end.src(0);
  for (UOp x : stores.is(Op::GROUP) ? stores.src() : std::span<const UOp>(&stores, 1)) {
    if (!x.is(Op::STORE) || !x.src(0).is(Op::INDEX)) return false;
    if (behind_after(x.src(0).src(0)) != reg) continue;
    const auto at = constant_integer(x.src(0).src(1));
    if (!at) return false;
    if (*at != *number) continue;
    if (store || x.num_src() != 2 || !element.is_place(x.src(0))) return false;
    store = x;
  }
  if (!store) return false;
  // one operand of the stored value must be the register; the others are the terms
  std::vector<UOp> operands;
  operands_of(store.src(1), op, operands);
  UOp register_read;
  std::vector<UOp> rest;
  for (UOp u : operands) {
    const bool reads = u.is(Op::INDEX) && behind_after(u.src(0)) == reg;
    if (reads && (register_read || !element.is_place(u))) return false;
    if (reads) register_read = u;
    else rest.push_back(u);
  }
  if (!register_read || !register_read.src(0).is(Op::AFTER)) return false;
  // the register must be read once for each iteration of the loops, after the only store that sets it
  const UOp start = register_read.src(0), first = element.only_store_below(start);
  std::unordered_set<UOp> needs = set_of(start.src().subspan(1));
  if (!std::ranges::all_of(loops, [&](UOp r) { return needs.contains(r); })) return false;
  if (!first || !first.src(1).is_const() || !is_once_for(first, before, end, loops)) return false;
  const Const identity = identity_element(op, before.dtype().scalar());
  return py_equal(first.src(1).arg().to_const(), identity) && are_terms(before, rest, lanes);
} catch (const LaneForms::TooMany&) { return false; }

bool is_loop_in_parts(UOp before, UOp after) {
  auto ends_one = [](UOp u) { return u.is(Op::END) && u.num_src() == 2 && u.src(1).is(Op::RANGE); };
  if (!ends_one(before) || !after.is(Op::GROUP)) return false;
  const UOp loop = before.src(1), body = before.src(0);
  const int64_t size = constant_size(loop);
  int64_t done = 0;  // number of iterations of the parts so far
  for (UOp end : after.src()) {
    if (!ends_one(end)) return false;
    const UOp part = end.src(1);
    const int64_t n = constant_size(part);
    if (n <= 0 || in_backward_slice_with_self(body, part)) return false;
    if (!(substitute(body, {{loop, part + Const(done)}}) == end.src(0))) return false;
    if (__builtin_add_overflow(done, n, &done)) return false;
  }
  return done == size;
}

std::optional<std::pair<UOp, UOp>> terms_times_factors(UOp before, UOp after) {
  if (!before.is(Op::REDUCE) || !before.arg().is(Op::ADD) || before.dtype() != before.src(0).dtype()) return {};
  std::vector<UOp> factors;
  operands_of(after, Op::MUL, factors);
  const auto loops = before.src().subspan(1);
  auto is_sum = [&](UOp u) {
    return u.is(Op::REDUCE) && u.arg() == before.arg() && std::ranges::equal(u.src().subspan(1), loops);
  };
  auto sum = std::ranges::find_if(factors, is_sum);
  if (sum == factors.end() || factors.size() < 2 || !std::ranges::all_of(loops, [](UOp s) { return s.is(Op::RANGE); }))
    return {};
  UOp term = sum->src(0);
  for (auto f = factors.begin(); f != factors.end(); ++f) {
    if (f == sum) continue;
    if (std::ranges::any_of(loops, [&](UOp loop) { return in_backward_slice_with_self(*f, loop); })) return {};
    term = term.alu(Op::MUL, *f);
  }
  if (term.dtype() != before.dtype()) return {};
  return std::pair(before.src(0), term);
}

UOp inside_ends(UOp u) {
  while (u.is(Op::END)) u = u.src(0);
  return u;
}

// Returns the RANGEs below the sources of a REDUCE after the first, each once: a merged loop is an expression.
static std::vector<UOp> loops_of(UOp reduce) {
  std::vector<UOp> out;
  for (UOp s : reduce.src().subspan(1))
    for (UOp x : toposort(s))
      if (x.is(Op::RANGE) && std::ranges::find(out, x) == out.end()) out.push_back(x);
  return out;
}

std::optional<std::pair<UOp, UOp>> terms_over_same_loops(UOp before, UOp after) {
  if (!before.is(Op::REDUCE) || !after.is(Op::REDUCE) || !(before.arg() == after.arg())) return {};
  if (before.dtype() != after.dtype() || before.src(0).dtype() != after.src(0).dtype()) return {};
  auto has_axes = [](UOp u) {  // the REDUCE also has axes of vectors
    return std::ranges::any_of(u.src().subspan(1), [](UOp s) {
      return std::ranges::any_of(toposort(s), [](UOp x) { return x.is(Op::UNROLL); });
    });
  };
  if (!std::ranges::is_permutation(loops_of(before), loops_of(after)) || has_axes(before) || has_axes(after)) return {};
  return std::pair(before.src(0), after.src(0));
}

bool has_loops_in_order_of(UOp reduce, UOp other) { return loops_of(reduce) == loops_of(other); }

bool ends_same_loops(UOp before, UOp after) {
  // loops with the same numbers and sizes are the same, even if their indices have other dtypes
  auto loops = [](UOp u) {
    std::set<std::string> out;
    for (; u.is(Op::END); u = u.src(0))
      for (UOp s : u.src().subspan(1))
        for (UOp x : toposort(s)) {
          if (!x.is(Op::RANGE)) continue;
          out.insert(x.arg().repr() + " " + loop_size_text(x));
        }
    return out;
  };
  return (before.is(Op::END) || after.is(Op::END)) && loops(before) == loops(after);
}

}  // namespace tgc
