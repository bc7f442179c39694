#include "lib/prove/loop_maps.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "lib/prove/launch_contract.h"
#include "lib/uop/facts.h"
#include "lib/uop/graph.h"

namespace tgc {
namespace {

constexpr int64_t kMostIterations = 1 << 20;

bool is_loop(UOp u) { return u.in({Op::RANGE, Op::SPECIAL}); }

// Evaluates integer expressions in 64 bits for combinations of the loops' values; narrower dtypes do not wrap around.
// run_iteration() returns false for an op that is not supported, an overflow of 64 bits, or a division by zero.
class LoopEvaluator {
 public:
  explicit LoopEvaluator(std::span<const UOp> roots) {
    std::unordered_map<UOp, size_t> places;
    for (UOp root : roots)
      for (UOp u : toposort(root)) {
        if (!places.try_emplace(u, steps_.size()).second) continue;
        Step step{u, {}};
        for (size_t i = 0; i < std::min<size_t>(3, u.num_src()); i++) step.src[i] = places.at(u.src(i));
        if (is_loop(u)) loops_.push_back(steps_.size()), loop_sizes_.push_back(constant_size(u));
        steps_.push_back(step);
      }
    values_.resize(steps_.size());
    for (UOp root : roots) roots_.push_back(places.at(root));
  }
  // Returns the number of combinations of the loops' values; nullopt if it is 0, unknown or more than kMostIterations.
  std::optional<int64_t> num_iterations() const {
    int64_t all = 1;
    for (int64_t size : loop_sizes_)
      if (size <= 0 || __builtin_mul_overflow(all, size, &all) || all > kMostIterations) return {};
    return all;
  }
  bool run_iteration(int64_t number) {
    for (size_t i = 0; i < loops_.size(); i++) values_[loops_[i]] = number % loop_sizes_[i], number /= loop_sizes_[i];
    for (size_t i = 0; i < steps_.size(); i++)
      if (!is_loop(steps_[i].node) && !evaluate(steps_[i], values_[i])) return false;
    return true;
  }
  int64_t root_value(size_t i) const { return values_[roots_[i]]; }

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

  std::vector<Step> steps_;
  std::vector<int64_t> values_;
  std::vector<size_t> loops_, roots_;
  std::vector<int64_t> loop_sizes_;
};

}  // namespace

std::optional<int64_t> constant_integer(UOp u) {
  if (!u || !dtypes::is_int(u.dtype().scalar())) return {};
  const auto all = toposort(u);
  // both bounds of an expression of constants are its value
  if (!std::ranges::all_of(all, [](UOp x) { return x.is(Op::CONST) ? !x.is_invalid() : x.in(ops::ALU); })) return {};
  if (!py_equal(u.vmin(), u.vmax()) || !u.vmin().is_int()) return {};
  return u.vmin().to_int().to_int64();
}

int64_t constant_size(UOp loop) {
  if (!loop.num_src() || !dtypes::is_int(loop.src(0).dtype()) || !py_equal(loop.src(0).vmin(), loop.src(0).vmax()))
    return -1;
  auto size = loop.src(0).vmin().to_int().to_int64();
  return size ? *size : -1;
}

namespace {

// If `u` is a number whose digits are loops of constant sizes, such as a * 12 + b * 4 + c for b < 3 and c < 4, returns
// how many values it has; else 0.
int64_t mixed_radix_size(UOp u) {
  const std::vector<UOp> terms = split_uop(u, Op::ADD);
  std::vector<std::pair<int64_t, int64_t>> digits;
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

// A digit of a number: (number / divisor) % size.
struct Digit {
  UOp number;             // a loop, or a number whose digits are loops
  int64_t num_values = 0;
  int64_t divisor = 1, size = 0;
};

std::optional<Digit> digit_of(UOp u) {
  if (is_loop(u)) return Digit{u, constant_size(u), 1, constant_size(u)};
  if (u.is(Op::ADD)) return Digit{u, mixed_radix_size(u), 1, mixed_radix_size(u)};
  if (!u.in({Op::IDIV, Op::MOD}) || !u.src(1).is_const() || !u.src(1).arg().is_int()) return {};
  auto by = u.src(1).arg().as_int().to_int64();
  auto of = digit_of(u.src(0));
  if (!of || of->size <= 0 || !by || *by <= 0 || of->size % *by) return {};
  if (u.is(Op::MOD)) of->size = *by;
  else of->divisor *= *by, of->size /= *by;
  return of;
}

// Returns true if the targets of the map are the digits of one number: then different values of the number have
// different digits, and all combinations of digits occur.
bool are_digits_of_number(const RangeMap& map) {
  std::vector<Digit> digits;
  for (auto& [range, to] : map) {
    auto digit = digit_of(to);
    if (!digit || digit->size <= 0 || digit->size != constant_size(range)) return false;
    digits.push_back(*digit);
  }
  std::ranges::sort(digits, {}, [](const Digit& d) { return std::pair(d.divisor, d.size); });
  int64_t next = 1;
  for (const Digit& d : digits)
    if (!(d.number == digits[0].number) || d.divisor != next || __builtin_mul_overflow(next, d.size, &next))
      return false;
  return next == digits[0].num_values;
}

// A digit of a loop: (loop / divisor) % size. Divisor and size may depend on variables.
struct VariableDigit {
  UOp loop;
  UOp divisor = {};
  UOp size = {};     // null if the digit is not a remainder
};

std::optional<VariableDigit> variable_digit_of(UOp u) {
  if (u.is(Op::RANGE)) return VariableDigit{u};
  if (!u.in({Op::IDIV, Op::MOD})) return {};
  auto of = variable_digit_of(u.src(0));
  if (!of || of->size) return {};
  if (u.is(Op::MOD)) of->size = u.src(1);
  else of->divisor = of->divisor ? of->divisor * u.src(1) : u.src(1);
  return of;
}

// Returns true if it is clear that the targets of the map are the digits of one loop: the first digit is loop % a, the
// next (loop / a) % b and so on, the last one is not a remainder, and the loop is as long as all digits together. The
// sizes a and b may depend on variables.
bool are_digits_of_loop(const RangeMap& map) {
  auto is_same = [](UOp a, UOp b) {
    return a == b || (a && b && (a.simplify() == b.simplify() || constant_integer((a - b).simplify()) == 0));
  };
  std::vector<std::pair<UOp, VariableDigit>> digits;
  for (auto& [range, to] : map) {
    const auto digit = variable_digit_of(to);
    // sizes below 0 run no iteration, but their product may be positive
    if (!digit || !range.dtype().is(Scalar::Index) || range.src(0).vmin().to_int() < Int(0)) return false;
    if (!digits.empty() && !(digit->loop == digits[0].second.loop)) return false;
    digits.emplace_back(range.src(0), *digit);
  }
  UOp next;
  while (!digits.empty()) {
    auto it = std::ranges::find_if(digits, [&](auto& d) { return is_same(d.second.divisor, next); });
    if (it == digits.end()) return false;
    const auto [size, digit] = *it;
    digits.erase(it);
    if (digit.size && !is_same(digit.size, size)) return false;
    next = next ? size * next : size;
    if (!digit.size) return digits.empty() && is_same(next, digit.loop.src(0));
  }
  return false;
}

bool is_mixed_radix_number(UOp range, UOp to) {
  return mixed_radix_size(to) > 0 && mixed_radix_size(to) == constant_size(range);
}

// Enumerates the values of the new loops. Returns true if they give each index of the replaced ranges exactly once;
// false if not, or if this is not known. Then may set `wrong`.
bool is_one_to_one(const RangeMap& map, std::optional<WrongIteration>* wrong = nullptr) {
  std::vector<UOp> targets;
  int64_t before = 1;
  for (auto& [range, to] : map) {
    const int64_t n = constant_size(range);
    if (n <= 0 || __builtin_mul_overflow(before, n, &before)) return false;
    targets.push_back(to);
  }
  LoopEvaluator evaluator(targets);
  const auto after = evaluator.num_iterations();
  if (!after || (before != *after && !wrong) || before > kMostIterations) return false;
  std::vector<bool> hit(size_t(before), false);
  auto iteration = [&](int64_t index, bool is_lost) {
    WrongIteration out{.loop_values = {}, .is_lost = is_lost};
    for (size_t i = map.size(); i-- > 0;) {
      const int64_t size = constant_size(map[i].first);
      out.loop_values.emplace_back(map[i].first, index % size), index /= size;
    }
    return out;
  };
  bool is_good = before == *after;
  for (int64_t n = 0; n < *after; n++) {
    if (!evaluator.run_iteration(n)) return false;
    int64_t index = 0;
    bool is_inside = true;
    for (size_t i = 0; i < map.size(); i++) {
      const int64_t v = evaluator.root_value(i), size = constant_size(map[i].first);
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

bool is_injective_index(UOp index, int64_t size) {
  const std::vector<UOp> targets{index};
  LoopEvaluator evaluator(targets);
  const auto all = evaluator.num_iterations();
  if (!all) return false;
  std::vector<bool> hit(size_t(size), false);
  for (int64_t n = 0; n < *all; n++) {
    if (!evaluator.run_iteration(n)) return false;
    const int64_t v = evaluator.root_value(0);
    if (v < 0 || v >= size || hit[size_t(v)]) return false;
    hit[size_t(v)] = true;
  }
  return true;
}

// Splits the map into parts whose targets have no loop in common.
static std::vector<RangeMap> split_independent_parts(const RangeMap& map) {
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

std::optional<WrongIteration> find_wrong_iteration(const RangeMap& map) {
  std::optional<WrongIteration> out;
  for (const RangeMap& part : split_independent_parts(map))
    if (!out || !out->is_lost) (void)is_one_to_one(part, &out);
  return out;
}

bool has_same_iterations(const RangeMap& map) {
  return std::ranges::all_of(split_independent_parts(map), [](const RangeMap& part) {
    const bool is_one = part.size() == 1;
    return (is_one && (is_mixed_radix_number(part[0].first, part[0].second) ||
                       is_same_size_loop(part[0].first, part[0].second))) ||
           are_digits_of_number(part) || are_digits_of_loop(part) || is_one_to_one(part);
  });
}

}  // namespace tgc
