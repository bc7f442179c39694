#include "passes/kernel/stages.h"

#include <memory>
#include <mutex>

#include "lib/uop/graph.h"
#include "lib/uop/integer_math.h"
#include "passes/pipeline.h"
#include "passes/symbolic/symbolic.h"
#include "passes/symbolic/transcendental.h"

namespace tgc {

using namespace pat;

namespace {

constexpr DTypeSet kBool{Scalar::Bool}, kUInt64{Scalar::UInt64},
    kTranscendental{Scalar::Float16, Scalar::Float32, Scalar::Float64};
constexpr DTypeSet kOtherFloats = dtypes::floats - kTranscendental;

bool is_power_of_two(UOp c) { return log2_exact(c) >= 0; }
bool is_power_of_two_above_one(UOp c) { return log2_exact(c) > 0; }
Const is_less_than_zero(UOp x) { return x.lt(0).vmin(); }  // requires sign_is_known(x)
bool sign_is_known(UOp x) {
  UOp negative = x.lt(0);
  return py_equal(negative.vmin(), negative.vmax());
}
bool one_value_between(UOp c1, UOp c2) {
  return py_equal(py_add(c1.arg().to_const(), 1), py_sub(c2.arg().to_const(), 1));
}

FoldingResult fast_idiv_by_const(const Target& target, UOp x, UOp c) { return fast_idiv(target, x, c.arg().as_int()); }

template <UOp (*expansion)(UOp)>
const RuleSet& transcendental_rules(Op op, std::string_view own, std::string_view others) {
  static const RuleSet set(own, {
      rule(own, node(op, d).of(kTranscendental), with<expansion>(d)),
      rule(others, node(op, d).of(kOtherFloats).as(x), cast(alu(op, cast(d, dtypes::float32)), dtype_of(x))),
  });
  return set;
}

std::vector<Rule> late_threefry_rules() {
  return {
      rule("threefry", node(Op::THREEFRY, x, y).of(kUInt64), with<threefry2x32>(x, y)),
  };
}

std::vector<Rule> late_max_rules() {
  return {
      rule("max-to-where", node(Op::MAX, x, y), where(x < y, y, x)),
  };
}

std::vector<Rule> late_sqrt_rules() {
  return {
      rule("sqrt-to-pow", each(Op::SQRT, d), with<xpow>(d, const_like(d, 0.5))),
  };
}

std::vector<Rule> late_and_rules() {
  return {
      rule("mod-to-and", x.of(dtypes::ints) % c, x & fold(c - 1), when<is_power_of_two>(c)),
  };
}

std::vector<Rule> late_or_rules() {
  return {
      rule("not-and-not", logical_not(x.of(kBool)) & logical_not(y.of(kBool)), logical_not(x | y)),
  };
}

std::vector<Rule> late_shl_rules() {
  return {
      rule("mul-to-shl", x.of(dtypes::ints) * c, x << fold<log2_exact>(c), when<is_power_of_two_above_one>(c)),
  };
}

std::vector<Rule> late_shr_rules() {
  auto shift = fold<log2_exact>(c);
  return {
      rule("unsigned-idiv-to-shr", x.of(dtypes::uints) / c, x >> fold<log2_exact>(c), when<is_power_of_two_above_one>(c)),
      // x / 2**k -> (x + (x < 0 ? 2**k - 1 : 0)) >> k: the shift rounds down, the division towards zero
      rule("idiv-to-shr", x.of(dtypes::ints) / c,
           branch("known-sign", (x + where(const_like(x < 0, fold<is_less_than_zero>(x)), c - 1, 0)) >> shift,
                  when<is_power_of_two_above_one>(c), when<sign_is_known>(x)),
           branch("any-sign", (x + where(x < 0, c - 1, 0)) >> shift, when<is_power_of_two_above_one>(c))),
  };
}

std::vector<Rule> late_fast_idiv_rules() {
  return {
      rule("fast-idiv", x.of(dtypes::ints) / c.scalar(),
           with<fast_idiv_by_const>(x, c).branches({"multiply", "twos-first", "wider"})),
      rule("mod-to-idiv", x.of(dtypes::ints) % d, x - d * (x / d)),
  };
}

std::vector<Rule> late_neg_rules() {
  return {
      rule("mul-to-neg", x * -1, alu(Op::NEG, x)),
  };
}

std::vector<Rule> late_sub_rules() {
  return {
      rule("add-neg-to-sub", x + node(Op::NEG, y), alu(Op::SUB, x, y)),
  };
}

std::vector<Rule> late_cmplt_rules() {
  return {
      rule("not-lt-const", logical_not(x.of(dtypes::sints) < c.of(dtypes::sints)), c - 1 < x),
      rule("not-const-lt", logical_not(c.of(dtypes::sints) < x.of(dtypes::sints)), x < c + 1),
      rule("neg-lt-mul", x.of(dtypes::sints) * -1 < y.of(dtypes::sints) * c, y * -c < x),
      rule("neg-lt-const", x.of(dtypes::sints) * -1 < c, -c < x),
      rule("between-to-eq", (c1.scalar() < x.of(dtypes::sints)) & (x.of(dtypes::sints) < c2.scalar()),
           logical_not(x != c1 + 1), when<one_value_between>(c1, c2)),
  };
}

std::vector<Rule> late_cmpeq_rules() {
  return {
      rule("not-ne-to-eq", logical_not(x != y), alu(Op::CMPEQ, x, y)),
  };
}

std::vector<Rule> late_mulacc_rules() {
  return {
      rule("mul-add-to-mulacc", a * b + d, alu(Op::MULACC, a, b, d)),
  };
}

std::vector<Rule> late_fdiv_rules() {
  return {
      rule("reciprocal-to-fdiv", reciprocal(x), alu(Op::FDIV, 1, x)),
      rule("mul-fdiv-one", a.of(dtypes::floats) * alu(Op::FDIV, constant(1).of(dtypes::floats), b), alu(Op::FDIV, a, b)),
  };
}

template <std::vector<Rule> (*rules)()>
const RuleSet& late_rule_set(std::string_view name) {
  static const RuleSet set(name, rules());
  return set;
}

std::vector<const RuleSet*> late_rule_sets(const LateRuleOptions& choice) {
  auto has = [&](Op op) { return choice.target_ops.contains(op); };
  auto expand = [&](Op op) { return choice.is_transcendental_forced || !has(op); };
  std::vector<const RuleSet*> parts;
  auto add = [&](bool applies, std::string_view name, const RuleSet& (*set)(std::string_view)) {
    if (applies) parts.push_back(&set(name));
  };
  if (expand(Op::EXP2)) parts.push_back(&transcendental_rules<xexp2>(Op::EXP2, "exp2", "exp2-through-float"));
  if (expand(Op::LOG2)) parts.push_back(&transcendental_rules<xlog2>(Op::LOG2, "log2", "log2-through-float"));
  if (expand(Op::SIN)) parts.push_back(&transcendental_rules<xsin>(Op::SIN, "sin", "sin-through-float"));
  add(!has(Op::THREEFRY), "late threefry", late_rule_set<late_threefry_rules>);
  add(!has(Op::MAX) && has(Op::CMPLT), "late max", late_rule_set<late_max_rules>);
  add(!has(Op::SQRT), "late sqrt", late_rule_set<late_sqrt_rules>);
  add(has(Op::AND), "late and", late_rule_set<late_and_rules>);
  add(has(Op::OR), "late or", late_rule_set<late_or_rules>);
  add(has(Op::SHL), "late shl", late_rule_set<late_shl_rules>);
  add(has(Op::SHR), "late shr", late_rule_set<late_shr_rules>);
  add(has(Op::SHR) && choice.uses_fast_idiv, "late fast idiv", late_rule_set<late_fast_idiv_rules>);
  add(has(Op::NEG), "late neg", late_rule_set<late_neg_rules>);
  add(has(Op::NEG) && has(Op::SUB), "late sub", late_rule_set<late_sub_rules>);
  add(has(Op::CMPLT), "late cmplt", late_rule_set<late_cmplt_rules>);
  add(has(Op::CMPEQ), "late cmpeq", late_rule_set<late_cmpeq_rules>);
  add(has(Op::MULACC), "late mulacc", late_rule_set<late_mulacc_rules>);
  add(has(Op::FDIV), "late fdiv", late_rule_set<late_fdiv_rules>);
  return parts;
}

// A thread-safe cache of rule sets by Key.
template <class Key>
class RuleSetCache {
 public:
  template <class Make>
  const RuleSet& get_or_make(const Key& key, Make make) {
    std::lock_guard lock(mutex_);
    for (auto& [known, set] : sets_)
      if (known == key) return *set;
    sets_.emplace_back(key, make());
    return *sets_.back().second;
  }

 private:
  std::mutex mutex_;
  std::vector<std::pair<Key, std::unique_ptr<const RuleSet>>> sets_;
};

LateRuleOptions late_rule_options_of(const KernelJob& job) {
  const Settings& settings = job.settings();
  return {job.target.code_for_op, settings.TRANSCENDENTAL >= 2, settings.DISABLE_FAST_IDIV == 0};
}

}  // namespace

const RuleSet& late_rewrite_patterns(const LateRuleOptions& choice) {
  static RuleSetCache<LateRuleOptions> cache;
  return cache.get_or_make(
      choice, [&] { return std::make_unique<const RuleSet>("late rewrite patterns", late_rule_sets(choice)); });
}

const RuleSet* decompositions_stage(const KernelJob& job) {
  static RuleSetCache<LateRuleOptions> cache;
  LateRuleOptions choice = late_rule_options_of(job);
  return &cache.get_or_make(choice, [&] {
    return std::make_unique<const RuleSet>("decompositions",
                                           std::vector{&symbolic_simple(), &late_rewrite_patterns(choice)});
  });
}

const RuleSet* final_rewrite_stage(const KernelJob& job) {
  struct Key {
    LateRuleOptions late_options;
    const RuleSet* extra_rules;
    bool operator==(const Key&) const = default;
  };
  static RuleSetCache<Key> cache;
  Key key{late_rule_options_of(job), &extra_matcher(job.target)};
  return &cache.get_or_make(key, [&] {
    return std::make_unique<const RuleSet>(
        "final rewrite", std::vector{decompositions_stage(job), &pm_render(), key.extra_rules, &pm_split_ends()});
  });
}

// Integer division by constants as multiplication and shift (tinygrad uop/decompositions.py: magicgu, fast_idiv).

namespace {

Int largest_magnitude(Const vmin, Const vmax) {
  Int least = vmin.to_int().abs(), greatest = vmax.to_int();
  return greatest < least ? least : greatest;
}

struct IntegerBounds {
  Int min, max;
};

IntegerBounds integer_bounds_of(UOp u) {
  return {py_max(u.vmin(), dtypes::min(u.dtype())).to_int(), py_min(u.vmax(), dtypes::max(u.dtype())).to_int()};
}

bool product_fits(IntegerBounds r, Int factor, DType dtype) {
  return factor * r.min >= dtypes::min(dtype).to_int() && factor * r.max <= dtypes::max(dtype).to_int();
}

}  // namespace

std::pair<Int, int> magicgu(Int vmax, Int d) {
  if (vmax < 0 || vmax.bit_length() > 64 || d <= 0 || d.bit_length() > 64)
    throw Failure("cannot divide values up to " + vmax.str() + " by " + d.str() + " with a multiplier");
  using Wide = unsigned __int128;
  Wide divisor = d.low_64_bits(), nc_plus_1 = (Wide(vmax.low_64_bits()) + 1) / divisor * divisor;
  for (int s = 0; s <= 128; s++) {
    Wide ones = s < 128 ? (Wide(1) << s) - 1 : ~Wide(0);
    if (nc_plus_1 && ones < (nc_plus_1 - 1) * (divisor - 1 - ones % divisor)) continue;
    Wide m = ones / divisor + 1;
    return {(Int(uint64_t(m >> 64)) << 64) + Int(uint64_t(m)), s};
  }
  throw Failure("no multiplier divides by " + d.str());
}

FoldingResult fast_idiv(const Target& target, UOp x, Int d, bool dont_cast) {
  if (d <= 0) throw Failure("the divisor must be positive, not " + d.str());
  DType dtype = x.dtype();
  bool never_negative = !py_less(x.vmin(), 0) || (dtype.count() == 1 && dtypes::is_unsigned(dtype));
  IntegerBounds range = integer_bounds_of(x);
  auto [m, s] = magicgu(largest_magnitude(range.min, range.max), d);
  auto sign = [&] { return x.lt(0).where(x.const_like(1), 0); };  // add 1 if x < 0, because the shift rounds down

  if (product_fits(range, m, dtype)) {
    UOp quotient = (x * m) >> Const(s);
    return {never_negative ? quotient : quotient + sign(), "multiply"};
  }
  // first try to divide by the power of two in d, which makes x smaller, because a wider dtype would be slow
  if (Int factor = d & -d; factor > 1)
    if (UOp quotient = fast_idiv(target, x / Const(factor), floor_div(d, factor), true).node)
      return {quotient, "twos-first"};
  if (dont_cast) return {};
  auto wider = promoted_dtypes(dtype.scalar());
  if (wider.empty() || !dtypes::is_int(wider.back()) || !is_dtype_supported(wider.back(), target) ||
      !product_fits(range, m, wider.back()))
    return {};
  UOp quotient = ((x.cast(wider.back()) * m) >> Const(s)).cast(dtype);
  return {never_negative ? quotient : quotient + sign(), "wider"};
}

// The Threefry 2x32 cipher with 20 rounds (tinygrad uop/decompositions.py:threefry2x32).

namespace {

constexpr int64_t kTwo32 = int64_t(1) << 32, kLow = kTwo32 - 1;

UOp low_half(UOp x) { return (x & Const(kLow)).cast(dtypes::uint32); }
UOp high_half(UOp x) { return ((x / Const(kTwo32)) & Const(kLow)).cast(dtypes::uint32); }
UOp rotate_left(UOp x, int r) { return x * Const(int64_t(1) << r) + x / Const(int64_t(1) << (32 - r)); }

}  // namespace

UOp threefry2x32(UOp x, UOp key) {
  constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  UOp x0 = low_half(x), x1 = high_half(x), key0 = low_half(key), key1 = high_half(key);
  UOp keys[] = {key1, key0 ^ key1 ^ Const(0x1BD11BDA), key0};
  UOp a = x0 + keys[2], b = x1 + keys[0];
  for (int i = 0; i < 5; i++) {
    for (int r : kRotations[i % 2]) {
      a = a + b;
      b = a ^ rotate_left(b, r);
    }
    a = a + keys[i % 3];
    b = b + keys[(i + 1) % 3] + Const(i) + Const(1);
  }
  return b.cast(dtypes::uint64) * Const(kTwo32) | a.cast(dtypes::uint64);
}

}  // namespace tgc
