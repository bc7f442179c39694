#include "lib/prove/normal_forms.h"

#include <doctest/doctest.h>

#include <random>

#include "lib/uop/exec_alu.h"
#include "lib/uop/graph.h"

namespace tgc {
namespace {

struct Forms {
  Graph g;
  ExprIsolator isolator{g, {}};
  IntervalAnalysis intervals{isolator};
  NormalForms forms{intervals};
  UOp i = g.range(Const(4096), 0, AxisType::LOOP), j = g.range(Const(8), 1, AxisType::LOOP);

  UOp num(int64_t v, DType d = dtypes::index) { return g.constant(d, v); }
  bool are_equal(UOp a, UOp b) { return forms.are_equal({a, b}, 0); }
};

TEST_CASE("NormalForms: quotients and remainders of merged loops") {
  Forms f;
  const UOp i = f.i, j = f.j;
  CHECK(f.are_equal(i / f.num(64) * f.num(64) + i % f.num(64), i));
  CHECK(f.are_equal(i / f.num(64) / f.num(8) * f.num(512) + i / f.num(64) % f.num(8) * f.num(64) + i % f.num(64), i));
  CHECK(f.are_equal((i * f.num(8) + j) / f.num(8), i));
  CHECK(f.are_equal((i * f.num(16) + j * f.num(2) + f.num(1)) / f.num(4), i * f.num(4) + j / f.num(2)));
  CHECK_FALSE(f.are_equal(i / f.num(64) * f.num(64) + i % f.num(32), i));
  CHECK_FALSE(f.are_equal((i * f.num(8) + j + f.num(1)) / f.num(8), i));
  const UOp below = j - f.num(4);  // may be negative, so that below / 8 rounds up
  CHECK_FALSE(f.are_equal(below / f.num(8) * f.num(8) + below % f.num(8), below + f.num(8)));
  CHECK_FALSE(f.are_equal((below + f.num(8)) / f.num(8), below / f.num(8) + f.num(1)));
}

TEST_CASE("NormalForms: integers wrap around once") {
  Forms f;
  const UOp x = f.g.node(Op::SPECIAL, dtypes::uint32, std::vector<UOp>{f.num(1 << 20)}, Arg("gidx0"));
  const UOp y = x * f.num((1 << 20) + 1, dtypes::uint32), one = f.num(1, dtypes::uint32);
  CHECK(f.are_equal((y + one) + y, (y + y) + one));
  CHECK(f.are_equal(((y + one) + y).cast(dtypes::uint64), ((y + y) + one).cast(dtypes::uint64)));
  CHECK(f.are_equal((y.cast(dtypes::uint64) + f.num(1, dtypes::uint64)).cast(dtypes::uint32), y + one));
  CHECK_FALSE(f.are_equal((y + one).cast(dtypes::uint64), y.cast(dtypes::uint64) + f.num(1, dtypes::uint64)));
  CHECK_FALSE(f.are_equal(y / f.num(2, dtypes::uint32) * f.num(2, dtypes::uint32), y));
}

TEST_CASE("NormalForms: words that are joined from disjoint bits") {
  Forms f;
  const std::vector<UOp> size{f.num(1 << 20)};
  const UOp high = f.g.node(Op::SPECIAL, dtypes::uint32, size, Arg("gidx0"));
  const UOp low = f.g.node(Op::SPECIAL, dtypes::uint32, size, Arg("gidx1"));
  auto wide = [&](int64_t v) { return f.num(v, dtypes::uint64); };
  auto joined = [&](Op op, int64_t bits) {
    return (high.cast(dtypes::uint64) << wide(bits)).alu(op, low.cast(dtypes::uint64));
  };
  for (Op op : {Op::OR, Op::XOR, Op::ADD}) {
    CHECK(f.are_equal(joined(op, 32).cast(dtypes::uint32), low));
    CHECK(f.are_equal(joined(op, 32) >> wide(32), high.cast(dtypes::uint64)));
    CHECK(f.are_equal(joined(op, 32).alu(Op::AND, wide(0xFFFFFFFF)), low.cast(dtypes::uint64)));
    CHECK_FALSE(f.are_equal(joined(op, 31) >> wide(31), high.cast(dtypes::uint64)));
  }
  CHECK(f.are_equal(joined(Op::OR, 32), joined(Op::ADD, 32)));
  CHECK_FALSE(f.are_equal(joined(Op::OR, 31), joined(Op::ADD, 31)));
  const UOp i = f.i.cast(dtypes::int32) - f.num(100, dtypes::int32), eight = f.num(8, dtypes::int32);
  CHECK(f.are_equal(i.alu(Op::AND, f.num(-8, dtypes::int32)) + i.alu(Op::AND, f.num(7, dtypes::int32)), i));
  CHECK_FALSE(f.are_equal(i.alu(Op::AND, f.num(-8, dtypes::int32)), i / eight * eight));
}

TEST_CASE("NormalForms: a node whose form is too large is equal to itself") {
  Forms f;
  UOp sum = f.num(0), other = sum;
  for (int64_t n = 2; n < 90; n++) sum = sum + f.i / f.num(n), other = other + f.i / f.num(n + 1);
  CHECK(f.are_equal(sum + f.num(1) + f.num(2), sum + f.num(3)));
  CHECK_FALSE(f.are_equal(sum, other));
  UOp undefined = f.num(0);
  for (int64_t n = 2; n < 90; n++) undefined = undefined + (f.i + f.num(n)) / f.j;
  CHECK(f.are_equal(undefined - undefined, undefined * f.num(0)));
  CHECK_FALSE(f.are_equal(f.num(0), undefined * f.num(0)));
}

TEST_CASE("NormalForms: what is undefined on the right must be so on the left") {
  Forms f;
  const UOp quotient = f.num(1) / f.j, zero = f.num(0);
  CHECK(f.are_equal(quotient * f.num(2), quotient + quotient));
  CHECK(f.are_equal(quotient * f.num(0), f.num(0)));
  CHECK_FALSE(f.are_equal(f.num(0), quotient * f.num(0)));
  const UOp gated = f.j.ne(zero).where(quotient, zero);
  CHECK_FALSE(f.are_equal(gated - gated, quotient * f.num(0)));
  CHECK(f.forms.are_equal({gated, quotient, f.j.ne(zero), f.j.ne(zero)}, 0) == false);
  CHECK(f.forms.are_equal({gated, f.num(5), f.j.ne(zero), f.j.ne(zero)}, 0) == false);
}

TEST_CASE("NormalForms: a choice whose condition holds where the value is valid") {
  Forms f;
  const UOp valid = f.j.lt(f.num(5)), other = f.i.lt(f.num(9)), chosen = valid.where(f.i, f.num(7));
  CHECK(f.forms.are_equal({chosen, f.i, valid, valid}, 0));
  CHECK(f.forms.are_equal({chosen, f.i, valid & other, other & valid}, 0));
  CHECK_FALSE(f.forms.are_equal({chosen, f.i, other, other}, 0));
  CHECK_FALSE(f.forms.are_equal({chosen, f.i, valid, other}, 0));
  CHECK(f.are_equal(valid.logical_not().where(f.num(7), f.i), chosen));
  CHECK(f.are_equal(f.num(4).lt(f.j), valid.logical_not()));
  CHECK_FALSE(f.are_equal(f.num(5).lt(f.j), valid.logical_not()));
  CHECK(f.are_equal((f.i / f.num(64)).lt(f.num(3)), f.i.lt(f.num(192))));
  CHECK(f.are_equal(f.num(3).lt(f.i / f.num(64)), f.num(255).lt(f.i)));
  CHECK_FALSE(f.are_equal((f.i / f.num(64)).lt(f.num(3)), f.i.lt(f.num(191))));
  CHECK_FALSE(f.are_equal(f.num(3).lt(f.i / f.num(64)), f.num(256).lt(f.i)));
}

// `known` must have the values of the loops.
Const evaluated(UOp u, std::map<uint32_t, Const>& known) {
  if (auto it = known.find(u.id()); it != known.end()) return it->second;
  std::vector<Arg> operands;
  for (UOp s : u.src()) operands.push_back(Arg(evaluated(s, known)));
  Const out = u.is_const() ? u.arg().to_const() : u.is(Op::CAST) ? operands[0].to_const() : Const(int64_t(0));
  if (u.is_const() || u.is(Op::CAST)) out = truncate(out, u.dtype());
  else out = exec_alu(u.graph(), u.op(), u.dtype(), operands).to_const();
  return known.emplace(u.id(), out).first->second;
}

TEST_CASE("NormalForms: random expressions of one form have equal values") {
  std::mt19937_64 random(1);
  size_t same = 0;
  for (DType d : {dtypes::int8, dtypes::uint8, dtypes::int32, dtypes::uint32, dtypes::index}) {
    Forms f;
    const UOp a = f.g.range(Const(7), 2, AxisType::LOOP), b = f.g.range(Const(5), 3, AxisType::LOOP);
    std::vector<UOp> pool{a.cast(d), b.cast(d)};
    for (int64_t c : {1, 2, 3, 8, 100}) pool.push_back(f.num(c, d));
    auto any = [&] { return pool[random() % pool.size()]; };
    auto constant = [&] { return pool[2 + random() % 5]; };
    while (pool.size() < 100) {
      const UOp x = any(), y = any();
      switch (random() % 9) {
        case 0:
        case 1: pool.push_back(x + y); break;
        case 2: pool.push_back(x - y); break;
        case 3: pool.push_back(x * constant()); break;
        case 4: pool.push_back(x.alu(Op::IDIV, constant())); break;
        case 5: pool.push_back(x.alu(Op::MOD, constant())); break;
        case 6: pool.push_back(x.lt(y).where(x, any())); break;
        case 7: pool.push_back(x.cast(random() & 1 ? dtypes::int8 : dtypes::uint32).cast(d)); break;
        default: pool.push_back(x.alu(Op::AND, f.num(3, d))); break;
      }
    }
    std::vector<std::map<uint32_t, Const>> points;
    for (int64_t x = 0; x < 7; x++)
      for (int64_t y = 0; y < 5; y++) points.push_back({{a.id(), Const(x)}, {b.id(), Const(y)}});
    for (size_t k = 0, values = pool.size(); k < values; k += 2) pool.push_back(pool[k].lt(pool[k + 1]));
    for (size_t k = 0; k < pool.size(); k++)
      for (size_t l = k + 1; l < pool.size(); l++) {
        if (pool[k] == pool[l] || !f.are_equal(pool[k], pool[l])) continue;
        same++;
        for (auto& known : points) {
          if (evaluated(pool[k], known).to_int() == evaluated(pool[l], known).to_int()) continue;
          CAPTURE(d.repr());
          CAPTURE(k);
          CAPTURE(l);
          FAIL("the forms are equal, and the values differ");
        }
      }
  }
  CHECK(same > 20);
}

}  // namespace
}  // namespace tgc
