// Phase 1 of the symbolic rules: generic folding that inspects a node and at most a few levels of its sources. Mirrors
// tinygrad uop/symbolic.py: propagate_invalid, symbolic_simple.
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "lib/uop/exec_alu.h"
#include "lib/uop/graph.h"
#include "passes/symbolic/guards.h"
#include "passes/symbolic/symbolic.h"

namespace tgc {

using namespace pat;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr DTypeSet kDiscrete = dtypes::index_like | DTypeSet{Scalar::Bool};
constexpr DTypeSet kBool{Scalar::Bool}, kUInt32{Scalar::UInt32}, kUInt64{Scalar::UInt64};

Const const_value(UOp c) { return value_of_const(c); }

UOp fold_alu(UOp a) {
  Arg operands[3];
  for (size_t i = 0; i < a.num_src(); i++) operands[i] = a.src(i).arg();
  return const_like_arg(a, exec_alu(a.graph(), a.op(), a.dtype(), {operands, a.num_src()}, false));
}

// Packs a constant into its bytes, by the format character of Python's struct module; unpack_constant() is the inverse.
uint64_t pack_constant(Const v, char fmt) {
  auto bits = [](auto x) {
    uint64_t out = 0;
    std::memcpy(&out, &x, sizeof x);
    return out;
  };
  switch (fmt) {
    case 'e': return float_to_half_bits(v.to_double());
    case 'f': return bits(float(v.to_double()));
    case 'd': return bits(v.to_double());
    case '?': return v.truthy();
    default: return v.to_int().low_64_bits();
  }
}

Const unpack_constant(uint64_t bytes, char fmt) {
  switch (fmt) {
    case '?': return bytes != 0;
    case 'b': return int64_t(int8_t(bytes));
    case 'B': return int64_t(uint8_t(bytes));
    case 'h': return int64_t(int16_t(bytes));
    case 'H': return int64_t(uint16_t(bytes));
    case 'i': return int64_t(int32_t(bytes));
    case 'I': return int64_t(uint32_t(bytes));
    case 'q': return int64_t(bytes);
    case 'Q': return Int(static_cast<unsigned long>(bytes));
    case 'e': return half_bits_to_float(uint16_t(bytes));
    case 'f': return double(std::bit_cast<float>(uint32_t(bytes)));
    default: return std::bit_cast<double>(bytes);
  }
}

UOp fold_bitcast(UOp root, UOp c) {
  char from = c.dtype().scalar().fmt(), to = root.dtype().scalar().fmt();
  if (!from || !to || c.dtype().itemsize() != root.dtype().itemsize()) return {};
  auto convert = [&](Arg v) { return unpack_constant(pack_constant(v.to_const(), from), to); };
  if (root.dtype().count() == 1) return root.const_like(convert(c.arg()));
  std::vector<Const> values;
  if (c.arg().is_tuple()) for (Arg v : c.arg().items()) values.push_back(convert(v));
  else values.assign(size_t(root.dtype().count()), convert(c.arg()));
  return root.const_like(values);
}

bool products_match(UOp a, UOp b, UOp product) {
  return py_equal(py_mul(const_value(a), const_value(b)), const_value(product));
}
bool not_finite(UOp x) { return x.is_const() && x.arg().is_float() && !std::isfinite(const_value(x).as_float()); }
bool below_zero(UOp c) { return const_value(c).to_double() < 0; }
bool above_zero(UOp c) { return const_value(c).to_double() > 0; }
bool is_zero(UOp c) { return const_value(c).to_double() == 0; }
bool is_one(UOp c) { return const_value(c).to_double() == 1; }
bool is_whole(UOp c) { return std::trunc(const_value(c).to_double()) == const_value(c).to_double(); }
bool is_odd(UOp c) { return is_whole(c) && std::fmod(const_value(c).to_double(), 2) == 1; }
bool ends_in_half(UOp c) { return std::trunc(const_value(c).to_double() - 0.5) + 0.5 == const_value(c).to_double(); }

}  // namespace

const RuleSet& propagate_invalid() {
  static const RuleSet set("propagate_invalid", [] {
    auto invalid = node(Op::CONST).arg(Const::invalid()).as(inv);
    auto gated = where(cond, x, invalid);
    constexpr OpSet kNumbers = ops::Binary - ops::Comparison;
    std::vector<Rule> rules{
        rule("cast-drops-invalid", cast(gated).as(root), cast(x, dtype_of(root))),
    };
    kNumbers.for_each([&](Op op) {
      rules.push_back(rule("alu-under-invalid", alu(op, gated, y), where(cond, alu(op, x, y), inv)));
    });
    ops::Comparison.for_each([&](Op op) {
      rules.push_back(rule("compare-drops-invalid", alu(op, gated, y), alu(op, x, y)));
    });
    kNumbers.for_each([&](Op op) {
      rules.push_back(rule("alu-of-invalid", alu(op, invalid, anything().of(dtypes::index)), inv));
    });
    return rules;
  }());
  return set;
}

const RuleSet& symbolic_simple() {
  auto half_power = pow(x, const_like(c, fold(floor_div(c, 2))));
  static const RuleSet own("symbolic_simple", {
      rule("add-zero", x + 0, x),
      rule("mul-one", x * 1, x),
      rule("xor-zero", x.of(kDiscrete) ^ 0, x),
      rule("div-self", x / x, const_like(x, 1)),
      rule("div-one", x / 1, x),
      rule("div-minus-one", x / -1, -x),
      rule("mod-mod", (anything() % y).as(base) % y, base),
      rule("mod-plus-div", x % c + (x / c) * c, x),
      // ((x / a) % c) + (x / b) * c -> x / a, when a * c = b
      rule("mod-of-div-plus-div", (x / ca) % c + (x / cb) * c,
           x / ca, when<products_match>(ca, c, cb)),
      // (x / c1) * c3 + (x % c1) * c2 -> x * c2, when c1 * c2 = c3
      rule("scaled-div-plus-mod", (x / c1) * c3 + x % c1 * c2,
           x * c2, when<products_match>(c1, c2, c3)),
      rule("sum-div-then-mod", (y + (x / c) * c) + x % c, y + x),
      rule("sum-mod-then-div", (y + x % c) + (x / c) * c, y + x),
      rule("sum-scaled-div-then-mod", (y + (x / c1) * c3) + x % c1 * c2,
           y + x * c2, when<products_match>(c1, c2, c3)),
      rule("sum-scaled-mod-then-div", (y + x % c1 * c2) + (x / c1) * c3,
           y + x * c2, when<products_match>(c1, c2, c3)),
      rule("and-const", x.of(kBool) & c.scalar(), branch("true", x, when<truthy>(c)), branch("false", c)),
      rule("or-const", x.of(kBool) | c.scalar(), branch("true", c, when<truthy>(c)), branch("false", x)),
      rule("idempotent", node(ops::Idempotent, x, x), x),
      rule("not-not", logical_not(logical_not(x.of(kBool))), x),
      rule("where-true-false", where(x.of(kBool), constant(true, dtypes::bool_), constant(false, dtypes::bool_)), x),
      rule("where-false-true", where(x.of(kBool), constant(false, dtypes::bool_), constant(true, dtypes::bool_)), logical_not(x)),
      rule("trunc-int", trunc(x.of(kDiscrete)), x),
      rule("lt-self", x < x, cast(const_like(x, false), dtypes::bool_)),
      rule("mod-self", x % x, const_like(x, 0)),
      rule("xor-self", x ^ x, const_like(x, 0)),
      // x != x -> false, for integers and bools: a float may be NaN
      rule("ne-self", x.of(kDiscrete) != x, cast(const_like(x, false), dtypes::bool_)),
      rule("fold-unary", node(ops::Unary, node({Op::CONST, Op::VCONST})).as(a), with<fold_alu>(a)),
      rule("fold-binary", node(ops::Binary - Op::THREEFRY, node({Op::CONST, Op::VCONST}), node({Op::CONST, Op::VCONST})).as(a), with<fold_alu>(a)),
      rule("fold-ternary", node(ops::Ternary, node({Op::CONST, Op::VCONST}), node({Op::CONST, Op::VCONST}), node({Op::CONST, Op::VCONST})).as(a),
           with<fold_alu>(a)),
      rule("mul-bool", x.of(kBool) * y.of(kBool), x & y),
      rule("add-bool", x.of(kBool) + y.of(kBool), x | y),
      rule("max-bool", maximum(x.of(kBool), y.of(kBool)), x | y),
      rule("zero-over-zero", fdiv(c.arg(0), 0), const_like(c, kNan)),
      rule("scaled-zero-over-zero", fdiv(x * 0, 0), const_like(x, kNan)),
      rule("fdiv-self", fdiv(x, x), const_like(x, 1)),
      rule("mul-fdiv", fdiv(x * x2, x2), x),
      rule("mul-zero", x * 0, branch("nan", const_like(x, kNan), when<not_finite>(x)), branch("zero", const_like(x, 0))),
      rule("cast-const", cast(c).as(root), const_like(root, c)),
      rule("cast-noop", node({Op::CAST, Op::BITCAST}, x).as(root), x, when<same_dtype>(root, x)),
      rule("bitcast-const", node(Op::BITCAST, c).as(root), with<fold_bitcast>(root, c)),
      rule("cast-there-and-back", cast(cast(x).as(a)).as(b), x, when<same_dtype>(x, b), when<dtype_holds>(a, b)),
      rule("pow-const", pow(x, c.scalar()),
           branch("negative", pow(reciprocal(x), -c), when<below_zero>(c)),
           branch("zero", const_like(x, 1), when<is_zero>(c)),
           branch("half", pow(x, const_like(c, fold(c - 0.5))) * sqrt(x), when<ends_in_half>(c)),
           branch("odd", half_power * half_power * x, when<is_odd>(c)),
           branch("even", half_power * half_power * const_like(x, 1), when<is_whole>(c))),
      // c ** x -> exp2(x * log2(c)), for positive c; 1 ** x -> 1
      rule("const-pow", pow(c.scalar(), x),
           branch("one", c, when<is_one>(c)),
           branch("positive", exp2(x * fold(log2(c))), when<above_zero>(c))),
      // ---- two uint32 packed into a uint64, as threefry does
      rule("low-half-mask", cast(x.of(kUInt64) & int64_t(0xFFFFFFFF), kUInt32), cast(x, dtypes::uint32)),
      rule("low-half-of-mul", cast((anything().of(kUInt64) * (int64_t(1) << 32)) | cast(y.of(kUInt32), kUInt64), kUInt32), y),
      rule("high-half-of-mul", ((x.of(kUInt64) * (int64_t(1) << 32)) | cast(anything().of(kUInt32), kUInt64)) / (int64_t(1) << 32), x),
      rule("low-half-of-shl", cast((anything().of(kUInt64) << 32) | cast(y.of(kUInt32), kUInt64), kUInt32), y),
      rule("high-half-of-shl", ((x.of(kUInt64) << 32) | cast(anything().of(kUInt32), kUInt64)) >> 32, x),
      rule("where-same", where(anything(), val, val), val),
      rule("where-const", where(c.scalar(), x, y), branch("true", x, when<truthy>(c)), branch("false", y)),
      rule("where-where", where(a, where(b, x, y), y), where(a & b, x, y)),
  });
  static const RuleSet set("symbolic_simple", {&propagate_invalid(), &own});
  return set;
}

}  // namespace tgc
