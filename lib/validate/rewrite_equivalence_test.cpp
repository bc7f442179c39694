#include "lib/validate/rewrite_equivalence.h"

#include <doctest/doctest.h>

#include "lib/uop/graph.h"
#include "lib/validate/isolated_expr.h"

namespace tgc {
namespace {

struct Parts {
  Graph g;
  UOp r = g.range(Const(int64_t(100)), 0, AxisType::LOOP), n = g.variable("n", 1, 8);
  UOp data = g.node(Op::DEFINE_GLOBAL, dtypes::int32.ptr(100), {}, Arg(int64_t(1)));
  Arrays arrays;
  VariableValues variables{{"n", 4}};

  Parts() {
    arrays.push_back({"data1", Array(dtypes::int32, {100})});
    for (int i = 0; i < 100; i++) arrays[0].array.as<int32_t>()[size_t(i)] = 3 * i;
  }
  UOp number(int64_t v) { return g.constant(dtypes::index, Const(v)); }
  UOp load(UOp at) { return data.index_ptr(at).load(); }
  EquivalenceResult see(UOp before, UOp after) {
    RewriteSides pair{before, after};
    return compare_sides({&pair, 1}, arrays, variables).value_or_throw()[0];
  }
};
using Kind = EquivalenceResult::Kind;

TEST_CASE("compare_sides: sides are Same, Differ or Open") {
  Parts p;
  CHECK(p.see(p.r + p.r, p.r * Const(int64_t(2))).kind == Kind::Same);
  EquivalenceResult off = p.see(p.r + p.r, p.r * Const(int64_t(2)) + Const(int64_t(1)));
  CHECK(off.kind == Kind::Differ);
  CHECK(off.is_beyond_rounding);
  CHECK(off.num_differing_points == 32);
  CHECK(off.witness.at("r0") == "0");
  CHECK(off.before == "0");
  CHECK(off.after == "1");
  UOp other = p.g.range(Const(int64_t(100)), 1, AxisType::LOOP);
  CHECK(p.see(p.r + Const(int64_t(1)), other + Const(int64_t(1))).kind == Kind::Open);
  CHECK(p.see(p.g.sink({p.r}), p.g.sink({other})).kind == Kind::Open);
}

TEST_CASE("compare_sides: a WHERE of an element and an Invalid value is Invalid where its condition does not hold") {
  Parts p;
  const UOp element = p.data.index_ptr(p.r), small = p.r.lt(50);
  const UOp invalid = p.g.constant(dtypes::int32, Const::invalid());
  const UOp value = p.g.node(Op::INDEX, dtypes::int32, element.src());
  CHECK(p.see(small.where(value, invalid), small.where(value + value - value, invalid)).kind == Kind::Same);
  CHECK(p.see(small.where(value, invalid), value).kind == Kind::Same);
  CHECK(p.see(value, small.where(value, invalid)).kind == Kind::Differ);
}

TEST_CASE("compare_sides: sides with other dtypes or numbers of elements are Unlike") {
  Parts p;
  UOp two = p.g.node(Op::VECTORIZE, dtypes::int32.vec(2), {p.load(p.r), p.load(p.r)});
  UOp float2 = two.cast(dtypes::float32.vec(2)), number = p.g.constant(dtypes::float32, 0);
  auto is_unlike = [&](UOp before, UOp after) {
    EquivalenceResult seen = p.see(before, after);
    return seen.kind == Kind::Unlike && seen.is_beyond_rounding &&
           !seen.differs_at_one_point_in(ExprIsolator::kPointsPerRun);
  };
  CHECK(is_unlike(float2, two.bitcast(dtypes::float32)));
  CHECK(is_unlike(float2, number));
  CHECK(is_unlike(number, number.cast(dtypes::float64)));
  UOp torn = p.g.node(Op::CAST, dtypes::float32, {two});
  CHECK(is_unlike(float2, p.g.node(Op::CAST, dtypes::float32.vec(2), {torn})));
  // A load from two addresses loads two elements, whatever its dtype is, so the dtype does not make the sides unlike.
  UOp places = p.g.node(Op::VECTORIZE, p.data.dtype().vec(2),
                        {p.data.index_ptr(p.r), p.data.index_ptr(p.r + Const(int64_t(1)))});
  UOp one_of_two = p.g.node(Op::LOAD, dtypes::int32, {places});
  CHECK_FALSE(is_unlike(one_of_two, two));
  CHECK_FALSE(is_unlike(p.data.index_ptr(p.r), p.r.cast(dtypes::int64)));
}

TEST_CASE("compare_sides: a range stays the same with another dtype, a cast size, or ranges around it") {
  Parts p;
  UOp hundred = p.g.constant(dtypes::int32, Const(int64_t(100)));
  UOp half_lowered = p.g.node(Op::RANGE, dtypes::index, {hundred.cast(dtypes::index)}, p.r.arg());
  UOp lowered = p.g.node(Op::RANGE, dtypes::int32, {hundred}, p.r.arg());
  UOp outer = p.g.range(Const(int64_t(7)), 5, AxisType::LOOP);
  UOp inside = p.g.node(Op::RANGE, dtypes::int32, {hundred, outer}, p.r.arg());
  for (UOp same : {lowered, inside}) {
    CHECK(p.see(half_lowered, same.cast(dtypes::index)).kind == Kind::Same);
    EquivalenceResult off = p.see(half_lowered, same.cast(dtypes::index) + Const(int64_t(1)));
    CHECK(off.is_beyond_rounding);
    CHECK(off.num_differing_points == 32);
  }
  UOp fewer = p.g.node(Op::RANGE, dtypes::int32, {p.g.constant(dtypes::int32, Const(int64_t(99)))}, p.r.arg());
  CHECK(p.see(half_lowered, fewer.cast(dtypes::index)).kind == Kind::Differ);
}

TEST_CASE("compare_sides: a difference at an edge alone is found; variables have the run's values") {
  Parts p;
  UOp last = p.r.lt(Const(int64_t(99)));
  CHECK(p.see(last, p.g.constant(dtypes::bool_, Const(true))).kind == Kind::Differ);
  CHECK(p.see(p.n * p.r, p.r * Const(int64_t(4))).kind == Kind::Same);  // because the variable n has the value 4
  CHECK(p.see(p.n * p.r, p.r * Const(int64_t(5))).kind == Kind::Differ);
}

TEST_CASE("compare_sides: loads read the run's arrays at any offset; a false gate gives the alternative") {
  Parts p;
  CHECK(p.see(p.load(p.r), (p.r * Const(int64_t(3))).cast(dtypes::int32)).kind == Kind::Same);
  CHECK(p.see(p.load(p.r), p.load(p.r + Const(int64_t(1)))).kind == Kind::Differ);
  UOp even = (p.r % Const(int64_t(2))).ne(Const(int64_t(1)));
  UOp gated = p.load(p.r.valid(even));
  CHECK(p.see(gated, even.where(p.load(p.r), p.load(p.r).const_like(Const(int64_t(0))))).kind == Kind::Same);
  CHECK(p.see(gated, p.load(p.r)).kind == Kind::Differ);
  UOp big = even.where(p.r, p.number(1000));
  CHECK(p.see(p.data.index_ptr(p.r.valid(even)), p.data.index_ptr(big.valid(even))).kind == Kind::Same);
}

TEST_CASE("compare_sides: reductions are run; reductions that are too long are Open") {
  Parts p;
  UOp k = p.g.range(Const(int64_t(10)), 1, AxisType::REDUCE);
  auto sum = [&](UOp x, UOp over) { return x.reduce(over, Op::ADD); };
  UOp x = p.load(p.r), ten = x * Const(int64_t(10));
  CHECK(p.see(sum(x + p.load(k), k), ten + sum(p.load(k), k)).kind == Kind::Same);
  CHECK(p.see(sum(x, k), ten).kind == Kind::Same);
  CHECK(p.see(sum(x, k), ten + Const(int64_t(1))).kind == Kind::Differ);
  UOp far = p.g.range(Const(int64_t(1) << 30), 1, AxisType::REDUCE);
  CHECK(p.see(sum(x + p.load(far), far), ten).kind == Kind::Open);
  UOp opaque = sum(p.load(far), far);
  CHECK(p.see(opaque + opaque, opaque * Const(int64_t(2))).kind == Kind::Same);
}

TEST_CASE("compare_sides: a position on an expanded axis is the same leaf as a range, an UNROLL or a CONTRACT") {
  Parts p;
  UOp u = p.g.range(Const(int64_t(4)), 2, AxisType::UPCAST);
  Const steps[] = {Const(int64_t(0)), Const(int64_t(1)), Const(int64_t(2)), Const(int64_t(3))};
  UOp vector = p.g.constant(dtypes::index.vec(4), std::span<const Const>(steps));
  Arg axes = p.g.tuple({p.g.tuple({Arg(int64_t(2)), Arg(int64_t(4))})});
  UOp unrolled = p.g.node(Op::UNROLL, dtypes::index, vector, axes);
  CHECK(p.see(u, unrolled).kind == Kind::Same);
  CHECK(p.see(u + p.r, p.g.node(Op::UNROLL, dtypes::index, vector + p.r.broadcast(4), axes)).kind == Kind::Same);
  CHECK(p.see(u, p.g.node(Op::UNROLL, dtypes::index, vector + vector, axes)).kind == Kind::Differ);
  CHECK(p.see(p.g.node(Op::CONTRACT, dtypes::index.vec(4), unrolled, axes), vector).kind == Kind::Same);
}

TEST_CASE("compare_sides: a store of a vector equals scalar stores of its elements") {
  Parts p;
  UOp out = p.g.node(Op::DEFINE_GLOBAL, dtypes::int32.ptr(100), {}, Arg(int64_t(0)));
  UOp x = p.load(p.r), two = p.g.node(Op::VECTORIZE, dtypes::int32.vec(2), {x, x + Const(int64_t(1))});
  UOp wide = out.index_ptr(p.r).cast(dtypes::int32.vec(2).ptr(100)).store(two);
  auto narrow = [&](int64_t second) {
    return p.g.group({out.index_ptr(p.r).store(x),
                      out.index_ptr(p.r + Const(int64_t(1))).store(x + Const(second))});
  };
  CHECK(p.see(wide, narrow(1)).kind == Kind::Same);
  CHECK(p.see(wide, narrow(2)).kind == Kind::Differ);
  auto backwards = [&](int64_t first) {
    return p.g.group({out.index_ptr(p.r + Const(int64_t(1))).store(x + Const(int64_t(1))),
                      out.index_ptr(p.r + Const(first)).store(x)});
  };
  CHECK(p.see(wide, backwards(0)).kind == Kind::Same);
  CHECK(p.see(wide, backwards(2)).kind == Kind::Differ);
}

}  // namespace
}  // namespace tgc
