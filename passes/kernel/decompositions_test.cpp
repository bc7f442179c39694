#include "passes/kernel/stages.h"

#include <cstdint>

#include "lib/rewrite/testing.h"
#include "lib/uop/exec_alu.h"
#include "passes/symbolic/transcendental.h"

namespace tgc {
namespace {

Target target(std::string_view name) { return parse_target(name, {}).value_or_throw(); }
const RuleSet& rules_for(std::string_view name, bool force = false) {
  return late_rewrite_patterns({target(name).code_for_op, force, true});
}
bool has_rule(const RuleSet& set, std::string_view name) {
  for (const Rule* r : set.rules())
    if (r->name == name) return true;
  return false;
}

TEST_CASE("magicgu gives a multiplier that divides every value up to the bound") {
  for (int64_t vmax : {1, 2, 9, 100, 255, 1000, 4095, 65535})
    for (int64_t d : {1, 2, 3, 5, 6, 7, 10, 11, 12, 25, 60, 125, 641, 1000}) {
      if (d > vmax) continue;
      auto [m, s] = magicgu(vmax, d);
      int64_t x = 0;
      while (x <= vmax && (Int(x) * m >> uint32_t(s)) == x / d) x++;
      CHECK(x == vmax + 1);
    }
}

TEST_CASE("magicgu gives known multipliers") {
  CHECK(magicgu(0xFFFFFFFFL, 3) == std::pair(Int(0xAAAAAAABL), 33));
  CHECK(magicgu(0xFFFFFFFFL, 7) == std::pair(Int(0x124924925L), 35));
  CHECK(magicgu(0x7FFFFFFFL, 10) == std::pair(Int(0x66666667L), 34));
  CHECK(magicgu(99, 10) == std::pair(Int(103), 10));
  Int most = Int::pow2(64) - 1;
  auto [m, s] = magicgu(most, 10);
  CHECK((most * m >> uint32_t(s)) == floor_div(most, 10));
  CHECK(magicgu(Int::pow2(63) - 1, Int::pow2(62) + 1) == std::pair(Int::pow2(63) - 1, 125));
  CHECK(magicgu(0, 5) == std::pair(Int(1), 0));
  CHECK(magicgu(most, most) == std::pair(Int::pow2(63) + 1, 127));
}

Int value_at(UOp root, int64_t x) {
  UOpMap<Const> known(root.graph());
  for (UOp u : toposort(root)) {
    std::vector<Arg> operands;
    for (UOp s : u.src()) operands.push_back(known[s]);
    if (u.is(Op::DEFINE_VAR)) known[u] = x;
    else if (u.is_const()) known[u] = u.arg().to_const();
    else if (u.is(Op::CAST)) known[u] = truncate(operands[0].to_const(), u.dtype());
    else known[u] = exec_alu(u.graph(), u.op(), u.dtype(), operands).to_const();
  }
  return known[root].to_int();
}

TEST_CASE("fast_idiv rounds towards zero, in the operand's dtype or a wider one") {
  const Target cpu = target("CPU");
  Graph g;
  struct Case {
    DType dtype;
    int64_t min, max, d;
  };
  for (Case c : {Case{dtypes::int32, 0, 1000, 7},
                 {dtypes::int32, -1000, 1000, 7},
                 {dtypes::int32, -2147483647 - 1, 2147483647, 10},
                 {dtypes::uint32, 0, 0xFFFFFFFFL, 3},
                 {dtypes::int8, -128, 127, 5},
                 {dtypes::uint8, 0, 255, 10},
                 {dtypes::int16, -32768, 32767, 24},
                 {dtypes::int64, 0, 1 << 20, 1000},
                 {dtypes::int32, 0, 100000, 48}}) {
    UOp x = g.variable("x", c.min, c.max, c.dtype), q = fast_idiv(cpu, x, c.d).node;
    CAPTURE(c.dtype.repr());
    REQUIRE(q);
    CHECK(q.dtype() == c.dtype);
    for (UOp u : toposort(q))
      CHECK(
          (!u.is(Op::IDIV) || (u.src(1).is_const() && (u.src(1).arg().as_int() & (u.src(1).arg().as_int() - 1)) == 0)));
    for (int64_t v :
         {c.min, c.min + 1, c.max - 1, c.max, c.min / 2, c.max / 2, c.max / 3, c.d, c.d - 1, 2 * c.d, int64_t(0)})
      if (v >= c.min && v <= c.max) CHECK(value_at(q, v) == cdiv(Int(v), Int(c.d)));
  }
}

TEST_CASE("fast_idiv declines if no dtype is wide enough") {
  Graph g;
  UOp whole = g.variable("x", dtypes::min(dtypes::int64), dtypes::max(dtypes::int64), dtypes::int64);
  CHECK_FALSE(fast_idiv(target("CPU"), whole, 7).node);
  UOp x = g.variable("x", -2147483647 - 1, 2147483647, dtypes::int32);
  CHECK(fast_idiv(target("CPU"), x, 7).node);
  CHECK_FALSE(fast_idiv(target("WEBGPU"), x, 7).node);                     // WEBGPU has no int64
  CHECK(fast_idiv(target("WEBGPU"), g.variable("x", 0, 999, dtypes::int32), 7).node);
  CHECK_FALSE(fast_idiv(target("CPU"), x, 7, true).node);                  // needs int64, but casts are not allowed
  CHECK_THROWS_AS((void)fast_idiv(target("CPU"), x, 0), Failure);
  CHECK_THROWS_AS((void)fast_idiv(target("CPU"), x, -3), Failure);
}

TEST_CASE("threefry2x32 matches the published test vectors") {
  // Random123's known answers for threefry2x32 with 20 rounds: counter, key and expected result of each case
  struct Case {
    uint32_t c0, c1, k0, k1, r0, r1;
  };
  for (Case c : {Case{0, 0, 0, 0, 0x6b200159, 0x99ba4efe}, {~0u, ~0u, ~0u, ~0u, 0x1cb996fc, 0xbb002be7},
                 {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xc4923a9c, 0x483df7a0}}) {
    Graph g;
    auto both = [&](uint32_t low, uint32_t high) {
      return g.constant(dtypes::uint64, Int(uint64_t(high) << 32 | low));
    };
    CHECK(value_at(threefry2x32(both(c.c0, c.c1), both(c.k0, c.k1)), 0) == Int(uint64_t(c.r1) << 32 | c.r0));
  }
}

TEST_CASE("each late rule for Clang applies and declines") {
  const RuleSet& set = rules_for("CPU");
  RuleTest t(set);
  const Target cpu = target("CPU");
  UOp x = t.load(0, dtypes::int32), y = t.load(1, dtypes::int32), u = t.load(2, dtypes::uint32),
      f = t.load(3, dtypes::float32), p = t.load(4, dtypes::bool_), q = t.load(5, dtypes::bool_);
  auto i32 = [&](Const v) { return t.constant(dtypes::int32, v); };

  t.check_rule("exp2", f.exp2(), xexp2(f));
  t.check_rule("log2", f.log2(), xlog2(f));
  t.check_rule("sin", f.sin(), xsin(f));
  UOp narrow = t.load(6, dtypes::bfloat16);
  for (auto [name, op] :
       {std::pair("exp2-through-float", Op::EXP2), {"log2-through-float", Op::LOG2}, {"sin-through-float", Op::SIN}}) {
    t.check_rule(name, narrow.alu(op), narrow.cast(dtypes::float32).alu(op).cast(dtypes::bfloat16));
    t.check_declines(name, f.alu(op));
  }
  t.check_declines("exp2", narrow.exp2());
  UOp w = t.load(7, dtypes::uint64), key = t.load(8, dtypes::uint64);
  t.check_rule("threefry", w.threefry(key), threefry2x32(w, key));
  t.check_rule("max-to-where", x.maximum(y), x.lt(y).where(y, x));

  t.check_rule("mod-to-and", x % 8, x & 7);
  t.check_rule("mod-to-and", x % 1, x & 0);
  t.check_declines("mod-to-and", x % 6);
  t.check_declines("mod-to-and", x % -8);
  t.check_declines("mod-to-and", x % y);
  t.check_rule("not-and-not", p.logical_not() & q.logical_not(), (p | q).logical_not());
  t.check_declines("not-and-not", p & q.logical_not());
  t.check_rule("mul-to-shl", x * 16, x << i32(4));
  t.check_rule("mul-to-shl", Const(2) * x, x << i32(1));
  t.check_declines("mul-to-shl", x * 1);
  t.check_declines("mul-to-shl", x * 12);
  t.check_declines("mul-to-shl", x * -4);
  t.check_declines("mul-to-shl", f * 4.0);
  t.check_rule("unsigned-idiv-to-shr", u / 32, u >> t.constant(dtypes::uint32, 5));
  t.check_declines("unsigned-idiv-to-shr", x / 32);
  t.check_declines("unsigned-idiv-to-shr", u / 1);
  t.check_rule("idiv-to-shr", x / 4, (x + x.lt(0).where(i32(4) - 1, 0)) >> i32(2));
  UOp positive = t.var("n", 0, 99, dtypes::int32);
  t.check_rule("idiv-to-shr", positive / 4,
               (positive + t.constant(dtypes::bool_, false).where(i32(4) - 1, 0)) >> i32(2));
  t.check_declines("idiv-to-shr", x / 6);
  t.check_rule("fast-idiv", positive / 7, fast_idiv(cpu, positive, 7).node, cpu);
  UOp wide = t.var("wide", 0, 1000000, dtypes::int32), any = t.load(9, dtypes::int32);
  t.check_branch("fast-idiv", "multiply", positive / 7, fast_idiv(cpu, positive, 7).node, cpu);
  t.check_branch("fast-idiv", "twos-first", wide / 7168, fast_idiv(cpu, wide / Const(1024), 7).node, cpu);
  t.check_branch("fast-idiv", "wider", any / 7, fast_idiv(cpu, any, 7).node, cpu);
  t.check_declines("fast-idiv", t.load(0, dtypes::int64) / 7, cpu);
  t.check_declines("fast-idiv", x / y, cpu);
  t.check_rule("mod-to-idiv", x % y, x - y * (x / y));
  t.check_declines("mod-to-idiv", t.load(0, dtypes::bool_) % t.load(1, dtypes::bool_));
  t.check_rule("mul-to-neg", f * -1.0, f.alu(Op::NEG));
  t.check_rule("mul-to-neg", x * -1, x.alu(Op::NEG));
  t.check_rule("add-neg-to-sub", x + y.alu(Op::NEG), x.alu(Op::SUB, y));
  t.check_rule("add-neg-to-sub", y.alu(Op::NEG) + x, x.alu(Op::SUB, y));

  t.check_rule("not-lt-const", x.lt(5).logical_not(), (i32(5) - 1).lt(x));
  t.check_declines("not-lt-const", u.lt(5).logical_not());
  t.check_rule("not-const-lt", i32(5).lt(x).logical_not(), x.lt(i32(5) + 1));
  t.check_declines("not-const-lt", f.gt(5.0).logical_not());
  t.check_rule("neg-lt-mul", (x * -1).lt(y * 3), (y * (i32(3) * -1)).lt(x));
  t.check_declines("neg-lt-mul", (x * -2).lt(y * 3));
  t.check_rule("neg-lt-const", (x * -1).lt(3), (i32(3) * -1).lt(x));
  t.check_declines("neg-lt-const", (f * -1.0).lt(3.0));
  t.check_rule("between-to-eq", i32(3).lt(x) & x.lt(5), x.eq(i32(3) + 1));
  t.check_rule("between-to-eq", x.lt(5) & i32(3).lt(x), x.eq(i32(3) + 1));
  t.check_declines("between-to-eq", i32(3).lt(x) & x.lt(6));
  t.check_declines("between-to-eq", i32(3).lt(x) & y.lt(5));
  t.check_rule("not-ne-to-eq", x.ne(y).logical_not(), x.alu(Op::CMPEQ, y));
  t.check_declines("not-ne-to-eq", p.logical_not());
  t.check_rule("reciprocal-to-fdiv", f.reciprocal(), f.const_like(1).alu(Op::FDIV, f));
  UOp g = t.load(9, dtypes::float32);
  t.check_rule("mul-fdiv-one", f * g.const_like(1).alu(Op::FDIV, g), f.alu(Op::FDIV, g));
  t.check_declines("mul-fdiv-one", f * g.const_like(2).alu(Op::FDIV, g));
  t.check_all_rules_fired();
}

TEST_CASE("each late rule for other targets applies") {
  RuleTest ptx(rules_for("CUDA:PTX:sm_80")), llvm(rules_for("CPU:LLVM"));
  UOp a = ptx.load(0, dtypes::float32), b = ptx.load(1, dtypes::float32), c = ptx.load(2, dtypes::float32);
  ptx.check_rule("mul-add-to-mulacc", a * b + c, a.alu(Op::MULACC, b, c));
  ptx.check_rule("mul-add-to-mulacc", c + a * b, a.alu(Op::MULACC, b, c));
  UOp f = llvm.load(0, dtypes::float32);
  llvm.check_rule("sqrt-to-pow", f.sqrt(), xpow(f, f.const_like(0.5)));
}

TEST_CASE("the late rules of a target depend on the ops that it renders") {
  struct Case {
    std::string_view target, rule;
    bool taken;
  };
  for (Case c : {Case{"CPU", "exp2", true},
                 {"CPU", "fast-idiv", true},
                 {"CPU", "max-to-where", true},
                 {"CPU", "sqrt-to-pow", false},
                 {"CPU", "mul-add-to-mulacc", false},
                 {"CPU:LLVM", "sqrt-to-pow", true},
                 {"CPU:LLVM", "mod-to-and", false},
                 {"CPU:LLVM", "idiv-to-shr", false},
                 {"CPU:LLVM", "fast-idiv", false},
                 {"CPU:LLVM", "mul-fdiv-one", true},
                 {"CPU:LLVM", "not-lt-const", true},
                 {"CPU:LLVM", "mul-to-neg", false},
                 {"CUDA", "exp2", false},
                 {"CUDA", "mul-fdiv-one", false},
                 {"CUDA", "add-neg-to-sub", true},
                 {"CUDA:PTX", "max-to-where", false},
                 {"CUDA:PTX", "mul-add-to-mulacc", true},
                 {"CUDA:PTX", "mul-to-neg", false},
                 {"CUDA:PTX", "add-neg-to-sub", false},
                 {"AMD:LLVM", "sqrt-to-pow", false},
                 {"AMD:LLVM", "sin", true},
                 {"AMD:LLVM", "log2", false}}) {
    CAPTURE(c.target);
    CAPTURE(c.rule);
    CHECK(has_rule(rules_for(c.target), c.rule) == c.taken);
  }
  CHECK(has_rule(rules_for("CUDA", true), "sin"));
  CHECK_FALSE(has_rule(late_rewrite_patterns({target("CPU").code_for_op, false, false}), "fast-idiv"));
  CHECK_FALSE(has_rule(late_rewrite_patterns({target("CPU").code_for_op, false, false}), "mod-to-idiv"));
  CHECK(&rules_for("CUDA:CUDA:sm_80") == &rules_for("METAL"));
}

}  // namespace
}  // namespace tgc
