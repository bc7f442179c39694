#include "lib/prove/prove_sides.h"

#include <cmath>

#include <doctest/doctest.h>

#include "lib/prove/contracts.h"
#include "lib/uop/graph.h"
#include "passes/kernel/stages.h"

namespace tgc {
namespace {

RewriteProof decide_sides(Graph& g, UOp before, UOp after) {
  ProofCache cache;
  return SidesProver(g, {}, cache).decide_sides(RewriteSides{before, after});
}

UOp loop_to(UOp size, int64_t number, AxisType type) {
  Graph& g = size.graph();
  return g.node(Op::RANGE, dtypes::index, {size}, g.range(Const(2), number, type).arg());
}

TEST_CASE("SidesProver: a loop in parts runs each iteration once") {
  Graph g;
  UOp r = g.range(Const(10), 0, AxisType::LOOP), memory = g.node(Op::DEFINE_GLOBAL, dtypes::int32.ptr(10), {}, 0);
  auto store = [&](UOp at) { return memory.index_ptr(at).store(at.cast(dtypes::int32)); };
  auto parts = [&](int64_t first, int64_t second, int64_t offset) {
    UOp a = g.range(Const(first), 1, AxisType::LOOP), b = g.range(Const(second), 2, AxisType::LOOP);
    return g.group({store(a + Const(0)).end(a), store(b + Const(offset)).end(b)});
  };
  const UOp whole = store(r).end(r);
  CHECK(decide_sides(g, whole, parts(3, 7, 3)).proof_method == "loops");
  CHECK(decide_sides(g, whole, parts(3, 6, 3)).kind != RewriteProof::Kind::Proven);
  CHECK(decide_sides(g, whole, parts(3, 7, 2)).kind != RewriteProof::Kind::Proven);
  CHECK(decide_sides(g, whole, g.group({whole, whole})).kind != RewriteProof::Kind::Proven);
}

TEST_CASE("SidesProver: a factor of all terms is a factor of the sum") {
  Graph g;
  UOp r = g.range(Const(8), 0, AxisType::REDUCE), i = g.range(Const(4), 1, AxisType::LOOP);
  auto load = [&](int64_t n, UOp at) {
    return g.node(Op::DEFINE_GLOBAL, dtypes::float32.ptr(32), {}, n).index_ptr(at).load();
  };
  UOp x = load(1, i * Const(8) + r), y = load(2, i), z = load(3, r);
  auto sum = [&](UOp u) { return u.reduce(std::vector<UOp>{r}, Op::ADD); };
  RewriteProof proof = decide_sides(g, sum(x * y * z), sum(x * z) * y);
  CHECK(proof.proof_method == "terms");
  CHECK(proof.sense == FloatSense::Real);
  CHECK(decide_sides(g, sum(x * Const(0.5)), sum(x) * Const(0.5)).proof_method == "terms");
  CHECK(decide_sides(g, sum(x * Const(0.5)), sum(x) * Const(0.25)).kind != RewriteProof::Kind::Proven);
  CHECK(decide_sides(g, sum(x * z), sum(x) * z).kind != RewriteProof::Kind::Proven);
  CHECK(decide_sides(g, sum(x * y), sum(x) * y * y).kind != RewriteProof::Kind::Proven);
}

TEST_CASE("SidesProver: sums over the same loops are equal if their terms are") {
  Graph g;
  auto num = [&](int64_t v) { return g.constant(dtypes::index, v); };
  UOp r = g.range(Const(12), 0, AxisType::REDUCE), memory = g.node(Op::DEFINE_GLOBAL, dtypes::float32.ptr(24), {}, 0);
  auto sum = [&](UOp at, std::vector<UOp> loops) { return memory.index_ptr(at).load().reduce(loops, Op::ADD); };
  const UOp row = r / num(4), column = r % num(4);
  CHECK(decide_sides(g, sum(row * num(4) + column, {row, column}), sum(r, {r})).proof_method == "terms");
  CHECK(decide_sides(g, sum(row * num(4) + column, {row, column}), sum(r + num(1), {r})).kind !=
        RewriteProof::Kind::Proven);
  UOp outer = g.range(Const(2), 1, AxisType::REDUCE);
  const UOp at = outer * num(12) + r, moved = r + outer * num(12);
  CHECK(decide_sides(g, sum(at, {outer, r}), sum(moved, {outer, r})).sense < FloatSense::Real);
  CHECK(decide_sides(g, sum(at, {outer, r}), sum(moved, {r, outer})).sense == FloatSense::Real);
  // another order of the loops is also found below other ops and in a store
  const UOp one_order = sum(at, {outer, r}) * Const(2.0), other_order = sum(at, {r, outer}) * Const(2.0);
  CHECK(decide_sides(g, one_order, other_order).kind == RewriteProof::Kind::Proven);
  CHECK(decide_sides(g, one_order, other_order).sense == FloatSense::Real);
  auto stored = [&](UOp value) { return memory.index_ptr(num(0)).store(value); };
  CHECK(decide_sides(g, stored(one_order), stored(other_order)).sense == FloatSense::Real);
  UOp longer = g.range(Const(13), 0, AxisType::REDUCE);
  CHECK(decide_sides(g, sum(r, {r}), sum(longer, {longer})).kind != RewriteProof::Kind::Proven);
  CHECK(decide_sides(g, sum(r, {r}), memory.index_ptr(r).load().reduce(std::vector<UOp>{r}, Op::MAX)).kind !=
        RewriteProof::Kind::Proven);
}

TEST_CASE("SidesProver: a sum that selects one term is this term") {
  Graph g;
  auto num = [&](int64_t v) { return g.constant(dtypes::index, v); };
  UOp r = g.range(Const(12), 0, AxisType::REDUCE), memory = g.node(Op::DEFINE_GLOBAL, dtypes::float32.ptr(12), {}, 0);
  UOp i = g.node(Op::DEFINE_GLOBAL, dtypes::int32.ptr(4), {}, 1).index_ptr(num(2)).load();
  auto zero = g.constant(dtypes::float32, 0.0);
  auto load = [&](UOp at) { return memory.index_ptr(at).load(); };
  auto sum_of = [&](UOp at) { return at.ne(i).where(zero, load(r)).reduce(std::vector<UOp>{r}, Op::ADD); };
  const UOp at = i.cast(dtypes::index), inside = at.ge(0) & at.lt(12);
  auto proof = decide_sides(g, sum_of(r.cast(dtypes::int32)), inside.where(load(at), zero));
  CHECK(proof.proof_method == "terms");
  CHECK(proof.sense == FloatSense::ButNan);
  auto is_proven = [&](UOp before, UOp after) {
    return decide_sides(g, before, after).kind == RewriteProof::Kind::Proven;
  };
  CHECK_FALSE(is_proven(sum_of(r.cast(dtypes::int32)), (at.ge(0) & at.lt(11)).where(load(at), zero)));
  CHECK_FALSE(is_proven(sum_of(r.cast(dtypes::int32)), inside.where(load(num(11) - at), zero)));
  CHECK_FALSE(is_proven(sum_of((r * num(2)).cast(dtypes::int32)), inside.where(load(at), zero)));
  // a product by 0 is 0 only for finite numbers
  auto product_of = [&](UOp value) {
    const UOp is_selected = r.cast(dtypes::int32).ne(i).ne(g.constant(dtypes::bool_, true));
    return (is_selected.cast(dtypes::float32) * value).reduce(std::vector<UOp>{r}, Op::ADD);
  };
  proof = decide_sides(g, product_of(load(r)), inside.where(load(at), zero));
  CHECK(proof.proof_method == "terms");
  CHECK(proof.sense == FloatSense::Finite);
  CHECK_FALSE(is_proven(product_of(load(r)), load(at.maximum(num(0)))));
  CHECK_FALSE(is_proven(product_of(load(r)), inside.where(load(num(11) - at), zero)));
  const UOp infinite = g.constant(dtypes::float32, INFINITY);
  auto masked = [&](UOp index) { return index.lt(3).where(infinite, load(index)); };
  CHECK_FALSE(is_proven(product_of(masked(r)), inside.where(masked(at), zero)));
  const UOp whole = g.node(Op::DEFINE_REG, dtypes::float32.ptr(12, AddrSpace::REG), {}, 0);
  CHECK_FALSE(is_proven(product_of(whole.index_ptr(r).load()), inside.where(whole.index_ptr(at).load(), zero)));
}

TEST_CASE("SidesProver: loops of symbolic sizes end alike whatever the dtype of their indices is") {
  Graph g;
  UOp memory = g.node(Op::DEFINE_GLOBAL, dtypes::float32.ptr(16), {}, 0);
  UOp n = g.variable("n", 1, 8), m = g.variable("m", 1, 8);
  const UOp store = memory.index_ptr(g.constant(dtypes::index, 1)).store(g.constant(dtypes::float32, 1.0));
  auto loop_to = [&](UOp size, DType d) {
    return g.node(Op::RANGE, d, {size.cast(d)}, g.range(Const(4), 0, AxisType::LOOP).arg());
  };
  const UOp before = store.end(loop_to(n, dtypes::index));
  CHECK(decide_sides(g, before, store.end(loop_to(n, dtypes::int32))).kind == RewriteProof::Kind::Proven);
  CHECK(decide_sides(g, before, store.end(loop_to(m, dtypes::int32))).kind != RewriteProof::Kind::Proven);
}

TEST_CASE("SidesProver: a sum over too many positions of expanded axes is not an accumulator") {
  Graph g;
  constexpr int64_t kMany = 2048;
  std::vector<UOp> positions;
  for (int64_t i = 0; i < kMany; i++) positions.push_back(g.constant(dtypes::index, i));
  UOp vector = g.node(Op::VECTORIZE, dtypes::index.vec(kMany), positions);
  UOp axis = g.node(Op::UNROLL, dtypes::index, {vector}, g.tuple({g.tuple({Arg(0), Arg(kMany)})}));
  UOp x = g.node(Op::DEFINE_GLOBAL, dtypes::float32.ptr(1), {}, 0).index_ptr(positions[0]).load();
  UOp many = g.node(Op::REDUCE, dtypes::float32, {x, axis}, Op::ADD);
  UOp both = g.node(Op::REDUCE, dtypes::float32, {g.node(Op::VECTORIZE, dtypes::float32.vec(2), {many, x})}, Op::ADD);
  CHECK(decide_sides(g, both, many + many).kind != RewriteProof::Kind::Proven);
}

TEST_CASE("SidesProver: a register with several elements adds the terms of each sum") {
  Graph g;
  auto num = [&](int64_t v) { return g.constant(dtypes::index, v); };
  UOp r = g.range(Const(8), 0, AxisType::REDUCE), memory = g.node(Op::DEFINE_GLOBAL, dtypes::float32.ptr(32), {}, 0);
  auto load = [&](int64_t n) { return memory.index_ptr(r * num(4) + num(n)).load(); };
  auto zero = g.constant(dtypes::float32, 0.0);
  auto after = [](UOp of, std::vector<UOp> deps) {
    deps.insert(deps.begin(), of);
    return of.graph().node(Op::AFTER, of.dtype(), deps);
  };
  auto gated = [](UOp index, UOp gate) {
    std::vector<UOp> sources(index.src().begin(), index.src().end());
    if (gate) sources.push_back(gate);
    return index.graph().node(Op::INDEX, index.dtype(), sources);
  };
  // makes a register whose element 0 adds the loads 0 and 1, and whose element 1 adds the loads 2 and `last`
  auto element = [&](int64_t i, int64_t last, int64_t place = 1, UOp store_gate = {}, UOp load_gate = {}) {
    UOp reg = g.node(Op::DEFINE_REG, dtypes::float32.ptr(2, AddrSpace::REG), {}, 0);
    UOp init = g.group({reg.index_ptr(num(0)).store(zero), reg.index_ptr(num(1)).store(zero)});
    UOp start = after(reg, {init, r});
    UOp old = gated(start.index(num(0)), load_gate);
    UOp first = gated(reg.index_ptr(num(0)), store_gate).store(old + (load(0) + load(1)));
    UOp second = reg.index_ptr(num(place)).store(start.index(num(1)) + (load(2) + load(last)));
    return after(reg, {g.group({first, second}).end(r)}).index(num(i));
  };
  auto sum = [&](UOp u) { return u.reduce(std::vector<UOp>{r}, Op::ADD); };
  CHECK(decide_sides(g, sum(load(0) + load(1)), element(0, 3)).proof_method == "accumulator");
  CHECK(decide_sides(g, sum(load(2) + load(3)), element(1, 3)).proof_method == "accumulator");
  CHECK(decide_sides(g, sum(load(2) + load(3)), element(1, 0)).kind != RewriteProof::Kind::Proven);
  CHECK(decide_sides(g, sum(load(2) + load(3)), element(0, 3)).kind != RewriteProof::Kind::Proven);
  CHECK(decide_sides(g, sum(load(0) + load(1)), element(0, 3, 0)).kind != RewriteProof::Kind::Proven);
  const UOp gate = r.lt(num(7));  // a gate at the store or load makes the last iteration wrong
  CHECK(decide_sides(g, sum(load(0) + load(1)), element(0, 3, 1, gate)).kind != RewriteProof::Kind::Proven);
  CHECK(decide_sides(g, sum(load(0) + load(1)), element(0, 3, 1, {}, gate)).kind != RewriteProof::Kind::Proven);
}

TEST_CASE("SidesProver: a register of rows and columns is set once, outside of the loops of its sum") {
  Graph g;
  auto num = [&](int64_t v) { return g.constant(dtypes::index, v); };
  UOp r = g.range(Const(8), 0, AxisType::REDUCE), other = g.range(Const(2), 1, AxisType::REDUCE);
  UOp row = g.range(Const(3), 2, AxisType::LOOP), memory = g.node(Op::DEFINE_GLOBAL, dtypes::float32.ptr(24), {}, 0);
  const UOp term = memory.index_ptr(row * num(8) + r).load(), zero = g.constant(dtypes::float32, 0.0);
  const UOp reg = g.node(Op::DEFINE_REG, dtypes::float32.ptr(4, AddrSpace::REG), {}, 0);
  auto after = [&](UOp of, std::vector<UOp> deps) {
    deps.insert(deps.begin(), of);
    return g.node(Op::AFTER, of.dtype(), deps);
  };
  auto at = [&](UOp of, int64_t y, int64_t x) { return of.index_ptr(num(y) * num(2) + num(x)); };
  auto read = [&](UOp of, int64_t y, int64_t x) { return of.index(num(y) * num(2) + num(x)); };
  const UOp set = at(after(reg, {row}), 1, 0).store(zero);
  auto sum_of = [&](std::vector<UOp> before, std::vector<UOp> ended) {
    const UOp start = after(reg, before);
    return read(after(reg, {at(start, 1, 0).store(read(start, 1, 0) + term).end(ended)}), 1, 0);
  };
  const UOp sum = term.reduce(std::vector<UOp>{r}, Op::ADD);
  auto is_proven = [&](UOp value) { return decide_sides(g, sum, value).kind == RewriteProof::Kind::Proven; };
  CHECK(is_proven(sum_of({set, r}, {r})));
  CHECK(is_proven(sum_of({set, at(reg, 0, 1).store(term), r}, {r})));
  // no proof if another store may set element 2: a store to element 2, or one to an unknown element
  CHECK_FALSE(is_proven(sum_of({set, at(reg, 0, 2).store(g.constant(dtypes::float32, 5.0)), r}, {r})));
  CHECK_FALSE(is_proven(sum_of({set, reg.index_ptr(row).store(g.constant(dtypes::float32, 5.0)), r}, {r})));
  CHECK_FALSE(is_proven(sum_of({at(reg, 1, 0).store(zero), r}, {r})));
  CHECK_FALSE(is_proven(sum_of({set, r, other}, {r})));
  CHECK_FALSE(is_proven(sum_of({at(after(reg, {row, r}), 1, 0).store(zero), r}, {r})));
}

TEST_CASE("SidesProver: stores of reductions of a variable length are compared around the reductions") {
  Graph g;
  auto num = [&](int64_t v) { return g.constant(dtypes::index, v); };
  UOp n = g.variable("n", 1, 10), r = loop_to(n, 0, AxisType::REDUCE), i = g.range(Const(8), 1, AxisType::LOOP);
  UOp in = g.node(Op::DEFINE_GLOBAL, dtypes::float32.ptr(80), {}, 1);
  UOp out = g.node(Op::DEFINE_GLOBAL, dtypes::float32.ptr(8), {}, 0);
  auto most = [&](UOp at, UOp loop) { return in.index_ptr(at).load().reduce(std::vector<UOp>{loop}, Op::MAX); };
  const UOp row = i / num(4), column = i % num(4), place = row * num(4) + column;
  auto at = [&](UOp base) { return base * num(10) + r; };
  auto is_proven = [&](UOp before, UOp after) {
    return decide_sides(g, before, after).kind == RewriteProof::Kind::Proven;
  };
  const UOp before = out.index_ptr(place).store(most(at(place), r) + Const(1.0));
  CHECK(is_proven(before, out.index_ptr(i).store(most(at(i), r) + Const(1.0))));
  CHECK_FALSE(is_proven(before, out.index_ptr(i).store(most(at(column), r) + Const(1.0))));
  CHECK_FALSE(is_proven(before, out.index_ptr(i).store(most(at(i), r) + Const(2.0))));
  CHECK_FALSE(is_proven(before, out.index_ptr(column).store(most(at(i), r) + Const(1.0))));
  const UOp longer = loop_to(n + num(1), 0, AxisType::REDUCE);
  CHECK_FALSE(is_proven(before, out.index_ptr(i).store(most(i * num(10) + longer, longer) + Const(1.0))));
  // x * 0 + x is x only for finite numbers, and the unknown value of a reduction may be infinite
  const UOp x = most(at(place), r);
  CHECK_FALSE(is_proven(out.index_ptr(i).store(x * Const(0.0) + x), out.index_ptr(i).store(most(at(i), r))));
}

TEST_CASE("SidesProver: the decomposition of THREEFRY is the cipher") {
  Graph g;
  auto load = [&](int64_t n) {
    return g.node(Op::DEFINE_GLOBAL, dtypes::uint64.ptr(1), {}, n).index_ptr(g.constant(dtypes::index, 0)).load();
  };
  UOp x = load(1), key = load(2), random = x.alu(Op::THREEFRY, key);
  CHECK(decide_sides(g, random, threefry2x32(x, key)).kind == RewriteProof::Kind::Proven);
  CHECK(decide_sides(g, random, threefry2x32(key, x)).kind != RewriteProof::Kind::Proven);
}

TEST_CASE("SidesProver: the reciprocal of a product is the product of the reciprocals over the reals") {
  Graph g;
  auto load = [&](int64_t i) {
    return g.node(Op::DEFINE_GLOBAL, dtypes::float32.ptr(16), {}, 1).index_ptr(g.constant(dtypes::index, i)).load();
  };
  auto reciprocal = [](UOp u) { return u.alu(Op::RECIPROCAL); };
  const UOp x = load(0), y = load(1), z = load(2), left = reciprocal(x * y * z);
  const RewriteProof proof = decide_sides(g, left, reciprocal(x) * reciprocal(y) * reciprocal(z));
  CHECK(proof.kind == RewriteProof::Kind::Proven);
  CHECK(proof.sense == FloatSense::Real);
  CHECK(decide_sides(g, left, reciprocal(x) * reciprocal(y) * reciprocal(y)).kind != RewriteProof::Kind::Proven);
}

TEST_CASE("SidesProver: constants are what REF computes") {
  Graph g;
  ProofCache cache;
  SidesProver prover(g, {}, cache);
  auto number = [&](double v) { return g.constant(dtypes::float32, v); };
  auto verdict = [&](UOp before, UOp after) {
    RewriteProof proof;
    SidePairs pairs{{before, after}};
    RewriteProof* open[] = {&proof};
    const SidePairs* all[] = {&pairs};
    prover.evaluate_open_rewrites(open, all);
    return proof;
  };
  CHECK(verdict(number(3).alu(Op::EXP2), number(8)).proof_method == "constants");
  CHECK(verdict(number(3).alu(Op::EXP2), number(9)).kind == RewriteProof::Kind::Refuted);
  UOp n = g.variable("n", 0, 0);
  CHECK(verdict(n + Const(1), n + Const(1) + Const(0)).kind == RewriteProof::Kind::Sampled);
}

TEST_CASE("has_same_iterations: digits and numbers of more loops than can be tried") {
  Graph g;
  auto num = [&](int64_t v) { return g.constant(dtypes::index, v); };
  UOp old = g.range(Const(6'000'000), 0, AxisType::LOOP), a = g.range(Const(3000), 1, AxisType::LOOP);
  UOp b = g.range(Const(2000), 2, AxisType::LOOP);
  CHECK(has_same_iterations({{old, a * Const(2000) + b}}));
  CHECK(!has_same_iterations({{old, a * Const(3000) + b}}));
  CHECK(!has_same_iterations({{old, a * Const(2000) + a}}));
  CHECK(has_same_iterations({{a, old / num(2000)}, {b, old % num(2000)}}));
  CHECK(!has_same_iterations({{a, old / num(2000)}, {b, old % num(1000)}}));
  CHECK(!has_same_iterations({{a, old / num(2000)}}));
  UOp other = g.range(Const(12), 3, AxisType::LOOP), c = g.range(Const(12), 4, AxisType::LOOP);
  CHECK(has_same_iterations({{old, a * Const(2000) + b}, {other, c}}));
  CHECK(!has_same_iterations({{other, c}, {c, c}}));
}

TEST_CASE("has_same_iterations: digits of a loop whose size depends on variables") {
  Graph g;
  UOp n = g.variable("n", 0, 10), m = g.variable("m", -3, 10);
  auto num = [&](int64_t v) { return g.constant(dtypes::index, v); };
  auto loop = [&](UOp size, int64_t number) { return loop_to(size, number, AxisType::LOOP); };
  const UOp a = loop(n, 0), b = loop(num(4), 1), c = loop(num(3), 2), four = loop(n * num(4), 3);
  CHECK(has_same_iterations({{a, four / num(4)}, {b, four % num(4)}}));
  CHECK(has_same_iterations({{b, loop(num(4) * n, 3) / n}, {a, loop(num(4) * n, 3) % n}}));
  const UOp twelve = loop(n * num(12), 4);
  CHECK(has_same_iterations({{a, twelve / num(12)}, {b, twelve / num(3) % num(4)}, {c, twelve % num(3)}}));
  CHECK_FALSE(has_same_iterations({{a, twelve / num(12)}, {b, twelve / num(4) % num(4)}, {c, twelve % num(3)}}));
  CHECK_FALSE(has_same_iterations({{a, four / num(4)}, {b, four % num(3)}}));
  CHECK_FALSE(has_same_iterations({{a, four / num(3)}, {b, four % num(4)}}));
  CHECK_FALSE(has_same_iterations({{a, four / num(4)}}));
  const UOp longer = loop(n * num(4) + num(1), 3), other = loop(n * num(4), 5);
  CHECK_FALSE(has_same_iterations({{a, longer / num(4)}, {b, longer % num(4)}}));
  CHECK_FALSE(has_same_iterations({{a, four / num(4)}, {b, other % num(4)}}));
  // loops of negative sizes run no iteration, but the product of two is positive
  const UOp d = loop(m, 6), e = loop(m, 7), both = loop(m * m, 8);
  CHECK_FALSE(has_same_iterations({{d, both / m}, {e, both % m}}));
}

}  // namespace
}  // namespace tgc
