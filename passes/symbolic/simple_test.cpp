#include "passes/symbolic/symbolic.h"

#include <cmath>
#include <limits>

#include "lib/rewrite/testing.h"

namespace tgc {
namespace {

TEST_CASE("each rule of symbolic_simple applies and declines") {
  RuleTest t(symbolic_simple());
  UOp x = t.var("x", 0, 100), y = t.var("y", 1, 7), n = t.var("n", -10, 10), b = t.load(0, dtypes::bool_),
      c = t.load(1, dtypes::bool_);
  UOp f = t.load(2, dtypes::float32), g = t.load(3, dtypes::float32), i = t.load(4, dtypes::int32),
      j = t.load(5, dtypes::int32);
  UOp yes = t.constant(dtypes::bool_, true), no = t.constant(dtypes::bool_, false), invalid = t.graph.invalid();
  auto num = [&](DType dtype, Const v) { return t.constant(dtype, v); };

  UOp gated = x.valid(b);
  t.check_rule("cast-drops-invalid", gated.cast(dtypes::int32), x.cast(dtypes::int32));
  t.check_declines("cast-drops-invalid", x.cast(dtypes::int32));
  t.check_rule("alu-under-invalid", gated + y, b.where(x + y, invalid));
  t.check_rule("alu-under-invalid", gated * y, b.where(x * y, invalid));
  t.check_declines("alu-under-invalid", y + gated.maximum(y));
  t.check_rule("compare-drops-invalid", gated.lt(y), x.lt(y));
  t.check_rule("compare-drops-invalid", gated.ne(y), x.ne(y));
  t.check_rule("alu-of-invalid", invalid + x, invalid);
  t.check_rule("alu-of-invalid", invalid * x, invalid);
  t.check_declines("alu-of-invalid", x * y);
  for (Op op : {Op::IDIV, Op::MOD, Op::MAX, Op::XOR, Op::OR, Op::AND, Op::SHL, Op::SHR, Op::SUB, Op::POW, Op::FDIV,
                Op::THREEFRY}) {
    t.check_rule("alu-under-invalid", gated.alu(op, y), b.where(x.alu(op, y), invalid));
    t.check_rule("alu-of-invalid", invalid.alu(op, y), invalid);
  }
  t.check_rule("compare-drops-invalid", gated.alu(Op::CMPEQ, y), x.alu(Op::CMPEQ, y));

  t.check_rule("add-zero", x + 0, x);
  t.check_declines("add-zero", x + 1);
  t.check_rule("mul-one", x * 1, x);
  t.check_declines("mul-one", x * 2);
  t.check_rule("xor-zero", i ^ 0, i);
  t.check_rule("div-self", x / x, num(dtypes::index, 1));
  t.check_declines("div-self", x / y);
  t.check_rule("div-one", x / 1, x);
  t.check_rule("div-minus-one", x / -1, -x);
  t.check_rule("mod-mod", (x % y) % y, x % y);
  t.check_declines("mod-mod", (x % y) % x);
  t.check_rule("mod-plus-div", x % 4 + (x / 4) * 4, x);
  t.check_declines("mod-plus-div", x % 4 + (x / 4) * 5);
  t.check_rule("mod-of-div-plus-div", (x / 3) % 4 + (x / 12) * 4, x / 3);
  t.check_declines("mod-of-div-plus-div", (x / 3) % 4 + (x / 11) * 4);
  t.check_rule("scaled-div-plus-mod", (x / 4) * 12 + x % 4 * 3, x * 3);
  t.check_declines("scaled-div-plus-mod", (x / 4) * 11 + x % 4 * 3);
  t.check_rule("sum-div-then-mod", (y + (x / 4) * 4) + x % 4, y + x);
  t.check_rule("sum-mod-then-div", (y + x % 4) + (x / 4) * 4, y + x);
  t.check_rule("sum-scaled-div-then-mod", (y + (x / 4) * 12) + x % 4 * 3, y + x * 3);
  t.check_declines("sum-scaled-div-then-mod", (y + (x / 4) * 13) + x % 4 * 3);
  t.check_rule("sum-scaled-mod-then-div", (y + x % 4 * 3) + (x / 4) * 12, y + x * 3);
  t.check_declines("sum-scaled-mod-then-div", (y + x % 4 * 3) + (x / 4) * 13);
  t.check_rule("and-const", b & yes, b);
  t.check_rule("and-const", b & no, no);
  t.check_rule("or-const", b | yes, yes);
  t.check_rule("or-const", b | no, b);
  t.check_rule("idempotent", x.maximum(x), x);
  t.check_declines("idempotent", x.maximum(y));
  t.check_rule("not-not", b.logical_not().logical_not(), b);
  t.check_rule("where-true-false", b.where(yes, no), b);
  t.check_rule("where-false-true", b.where(no, yes), b.logical_not());
  t.check_rule("trunc-int", i.trunc(), i);
  t.check_declines("trunc-int", f.trunc());

  t.check_rule("lt-self", x.lt(x), num(dtypes::index, 0).cast(dtypes::bool_));
  t.check_rule("mod-self", x % x, num(dtypes::index, 0));
  t.check_rule("xor-self", i ^ i, num(dtypes::int32, 0));
  t.check_rule("ne-self", i.ne(i), num(dtypes::int32, 0).cast(dtypes::bool_));
  t.check_declines("ne-self", f.ne(f));

  t.check_rule("fold-unary", num(dtypes::float32, 4.0).sqrt(), num(dtypes::float32, 2.0));
  t.check_rule("fold-binary", num(dtypes::int32, 6) + num(dtypes::int32, 7), num(dtypes::int32, 13));
  t.check_rule("fold-ternary", yes.where(num(dtypes::int32, 1), num(dtypes::int32, 2)), num(dtypes::int32, 1));
  t.check_rule("mul-bool", b * c, b & c);
  t.check_declines("mul-bool", i * j);
  t.check_rule("add-bool", b + c, b | c);
  t.check_declines("add-bool", i + j);
  t.check_rule("max-bool", b.maximum(c), b | c);
  t.check_declines("max-bool", i.maximum(j));

  UOp nan = num(dtypes::float32, std::numeric_limits<double>::quiet_NaN()),
      inf = num(dtypes::float32, std::numeric_limits<double>::infinity());
  auto makes_nan = [&](std::string_view rule, UOp from) {
    t.check_rule(rule, from, from.const_like(nan.arg().to_const()));
  };
  makes_nan("zero-over-zero", fdiv(num(dtypes::float32, 0.0), num(dtypes::float32, 0.0)));
  makes_nan("scaled-zero-over-zero", fdiv(f * 0.0, num(dtypes::float32, 0.0)));
  t.check_rule("fdiv-self", fdiv(f, f), num(dtypes::float32, 1.0));
  t.check_declines("fdiv-self", fdiv(f, g));
  t.check_rule("mul-fdiv", fdiv(f * g, g), f);
  t.check_rule("mul-zero", f * 0.0, num(dtypes::float32, 0.0));
  makes_nan("mul-zero", inf * 0.0);

  t.check_rule("cast-const", num(dtypes::float32, 2.5).cast(dtypes::int32), num(dtypes::int32, 2));
  t.check_rule("cast-noop", t.graph.node(Op::CAST, dtypes::float32, f), f);
  t.check_declines("cast-noop", f.cast(dtypes::int32));
  t.check_rule("bitcast-const", num(dtypes::float32, 1.0).bitcast(dtypes::int32), num(dtypes::int32, 0x3F800000));
  t.check_declines("bitcast-const", t.graph.node(Op::BITCAST, dtypes::int64, num(dtypes::float32, 1.0)));
  t.check_rule("cast-there-and-back", i.cast(dtypes::int64).cast(dtypes::int32), i);
  t.check_declines("cast-there-and-back", i.cast(dtypes::int8).cast(dtypes::int32));

  t.check_rule("pow-const", f.pow(2.0), f.pow(1.0) * f.pow(1.0) * num(dtypes::float32, 1.0));
  t.check_rule("pow-const", f.pow(0.0), num(dtypes::float32, 1.0));
  t.check_rule("pow-const", f.pow(3.0), f.pow(1.0) * f.pow(1.0) * f);
  t.check_rule("pow-const", f.pow(2.5), f.pow(2.0) * f.sqrt());
  t.check_rule("pow-const", f.pow(-2.0), f.reciprocal().pow(num(dtypes::float32, -2.0).neg()));
  t.check_declines("pow-const", f.pow(0.3));
  t.check_rule("const-pow", num(dtypes::float32, 2.0).pow(f), (f * std::log2(2.0)).exp2());
  t.check_rule("const-pow", num(dtypes::float32, 1.0).pow(f), num(dtypes::float32, 1.0));
  t.check_declines("const-pow", num(dtypes::float32, -2.0).pow(f));

  UOp hi = t.load(6, dtypes::uint64), lo = t.load(7, dtypes::uint32), two32 = num(dtypes::uint64, int64_t(1) << 32),
      both = (hi * two32) | lo.cast(dtypes::uint64);
  UOp shifted = (hi << num(dtypes::uint64, 32)) | lo.cast(dtypes::uint64);
  t.check_rule("low-half-mask", (hi & num(dtypes::uint64, int64_t(0xFFFFFFFF))).cast(dtypes::uint32),
               hi.cast(dtypes::uint32));
  t.check_declines("low-half-mask", (hi & num(dtypes::uint64, int64_t(0xFFFF))).cast(dtypes::uint32));
  t.check_rule("low-half-of-mul", both.cast(dtypes::uint32), lo);
  t.check_rule("high-half-of-mul", both / two32, hi);
  t.check_rule("low-half-of-shl", shifted.cast(dtypes::uint32), lo);
  t.check_rule("high-half-of-shl", shifted >> num(dtypes::uint64, 32), hi);

  t.check_rule("where-same", b.where(x, x), x);
  t.check_declines("where-same", b.where(x, y));
  t.check_rule("where-const", yes.where(x, y), x);
  t.check_rule("where-const", no.where(x, y), y);
  t.check_rule("where-where", b.where(c.where(x, y), y), (b & c).where(x, y));
  t.check_declines("where-where", b.where(c.where(x, y), n));
  t.check_all_rules_fired();
}

}  // namespace
}  // namespace tgc
