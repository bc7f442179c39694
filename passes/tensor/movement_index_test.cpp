#include "passes/tensor/movement_index.h"

#include <random>

#include "lib/uop/graph.h"
#include "passes/tensor/testing.h"
#include "lib/uop/movement.h"
#include "lib/uop/render.h"

using namespace tgc;

namespace {

struct Tensors {
  Graph g;
  UOp r0 = g.range(Const(6), 0, AxisType::LOOP), r1 = g.range(Const(4), 1, AxisType::LOOP);

  UOp tensor(ShapeVec shape) {
    Int size = 1;
    for (Sint s : shape) size = size * s.vmax();
    UOp device = g.node(Op::DEVICE, dtypes::void_, {}, g.str("CPU"));
    UOp buffer = g.node(Op::BUFFER, dtypes::float32, {g.node(Op::UNIQUE, dtypes::void_, {}, 0), device}, size);
    return shape.size() == 1 ? buffer : force_reshape(buffer, shape);
  }
};

std::string text(const std::vector<UOp>& indices) {
  std::string out;
  for (UOp i : indices) out += (out.empty() ? "" : ", ") + render(i);
  return out;
}
std::string text(UOp movement, std::vector<UOp> indices) { return text(apply_movement_op(movement, indices)); }

}  // namespace

TEST_CASE("a reshape flattens the indices and splits them again") {
  Tensors t;
  CHECK(text(reshape(t.tensor({24}), ShapeVec{6, 4}), {t.r0, t.r1}) == "(r0*4+r1)");
  CHECK(text(apply_reshape(t.g, ShapeVec{6, 4}, ShapeVec{24}, std::vector{t.g.range(Const(24), 0, AxisType::LOOP)})) ==
        "(r0//4), (r0%4)");
  CHECK(text(apply_reshape(t.g, ShapeVec{3, 8}, ShapeVec{6, 4}, std::vector{t.r0, t.r1})) == "(r0//2), ((r0*4+r1)%8)");
}

TEST_CASE("a reshape seen before with other ranges is taken from the cache") {
  Tensors t;
  UOp a = t.g.range(Const(6), 7, AxisType::REDUCE), b = t.g.range(Const(4), 9, AxisType::LOOP);
  CHECK(text(apply_reshape(t.g, ShapeVec{24}, ShapeVec{6, 4}, std::vector{t.r0, t.r1})) == "(r0*4+r1)");
  size_t before = t.g.size();
  CHECK(text(apply_reshape(t.g, ShapeVec{24}, ShapeVec{6, 4}, std::vector{a, b})) == "(r7*4+r9)");
  CHECK(t.g.size() < before + 20);
}

TEST_CASE("reshape shortcuts give the same indices as a reshape of the whole shape") {
  std::mt19937 random(7);
  auto below = [&](int n) { return int(random() % unsigned(n)); };
  size_t in_blocks = 0;
  for (int round = 0; round < 2000; round++) {
    Tensors t;
    Graph& g = t.g;
    ShapeVec from, to;
    auto split = [&](int size, ShapeVec& into) {  // appends random sizes whose product is `size`
      for (int d = 2; size > 1; d++)
        while (size % d == 0 && size > 1) {
          int part = below(2) && size / d % d == 0 ? d * d : d;
          into.push_back(part), size /= part;
        }
    };
    constexpr int kSizes[] = {2, 4, 6, 7, 12, 17, 30, 36};
    for (int blocks = 1 + below(4); blocks > 0; blocks--) {
      int size = kSizes[below(8)], kind = below(4);
      if (kind == 0) from.push_back(1);
      if (kind == 1) to.push_back(1);
      below(3) ? from.push_back(size) : split(size, from);
      below(3) ? to.push_back(size) : split(size, to);
    }
    std::vector<UOp> indices;
    int64_t next = below(5), step = below(2) ? 1 : -1;
    if (step < 0) next += 100;
    auto range = [&](int64_t n) {
      return g.range(Const(n), std::exchange(next, next + step), below(2) ? AxisType::LOOP : AxisType::REDUCE);
    };
    // returns a random sum of constants and terms range * constant; every value of the sum is less than `n`
    auto sum = [&](int64_t n) {
      int64_t left = n - 1;
      UOp out = g.constant(dtypes::index, 0);
      for (int terms = 1 + below(3); terms > 0 && left > 0; terms--) {
        int64_t times = 1 + below(int(std::min<int64_t>(left, 9))), most = 1 + below(int(left / times));
        UOp term = below(8) ? range(most + 1) * Const(times) : g.constant(dtypes::index, most * times);
        out = below(2) ? out + term : term + out;
        left -= most * times;
      }
      return out.simplify();
    };
    // pads an axis of `n` elements; returns the index into it for a random sum or random ranges over the padded axis
    auto padded = [&](int64_t n) {
      int64_t before = below(int(n) + 2), after = below(int(n) + 2) + (before == 0), m = before + n + after;
      UOp x = below(2) ? sum(m) : below(2) ? range(m) : range(m - m / 3) + range(m / 3 + 1);
      return apply_movement_op(pad(t.tensor({n}), std::vector<std::pair<Sint, Sint>>{{before, after}}),
                               std::vector{x})[0];
    };
    bool sums = below(3) > 0, pads = sums && below(2);
    for (Sint s : to) {
      int64_t n = s.as_int().small_value();
      int kind = sums ? below(8) : below(2) * 5;
      if (pads && n > 1 && below(2)) indices.push_back(padded(n));
      else if (kind > 5) indices.push_back(sum(n));
      else if (kind == 0) indices.push_back(g.constant(dtypes::index, below(int(n))));
      else if (kind == 1 && n > 3) indices.push_back(range(n - 2) + range(3));
      else if (kind == 2 && n > 5) indices.push_back(range(2) * Const(n - 3) + range(3));
      else if (kind == 3 && n > 3) indices.push_back(range((n - 1) / 2) * Const(2) + Const(1));
      else indices.push_back(range(n));
    }
    auto parts = apply_reshape(g, from, to, indices);
    RewriteObserver observer;
    set_observer(g, &observer);
    auto whole = apply_reshape(g, from, to, indices);
    INFO(str(from) << " -> " << str(to) << ", " << text(indices));
    CHECK(text(parts) == text(whole));
    CHECK(parts == whole);
    in_blocks += from.size() > 1 && to.size() > 1;
  }
  CHECK(in_blocks > 500);
}

TEST_CASE("a reshape may have symbolic sizes") {
  Tensors t;
  UOp n = t.g.variable("n", 1, 8);
  CHECK(text(apply_reshape(t.g, ShapeVec{Sint(n) * Sint(4)}, ShapeVec{n, 4},
                           std::vector{t.g.range(n, std::array<Arg, 2>{0, AxisType::LOOP}), t.r1})) ==
        "((r0*4+r1)%(n*4))");
}

TEST_CASE("shrink adds the start unless it is 0") {
  Tensors t;
  CHECK(text(shrink(t.tensor({8, 4}), std::vector<std::pair<Sint, Sint>>{{2, 8}, {0, 4}}), {t.r0, t.r1}) ==
        "(r0+2), r1");
}

TEST_CASE("permute moves each index to its source axis") {
  Tensors t;
  UOp r2 = t.g.range(Const(5), 2, AxisType::LOOP);
  CHECK(text(permute(t.tensor({6, 4, 5}), std::vector<int64_t>{2, 0, 1}), {r2, t.r0, t.r1}) == "r0, r1, r2");
}

TEST_CASE("flip counts from the end") {
  Tensors t;
  bool axes[] = {true, false};
  CHECK(text(flip(t.tensor({6, 4}), axes), {t.r0, t.r1}) == "(r0*-1+5), r1");
}

TEST_CASE("an expanded axis is always read at 0") {
  Tensors t;
  CHECK(text(expand(t.tensor({1, 4}), ShapeVec{6, 4}), {t.r0, t.r1}) == "0, r1");
}

TEST_CASE("the index of a padded axis is gated, and a reshape keeps the gate outermost") {
  Tensors t;
  UOp padded = pad(t.tensor({3, 4}), std::vector<std::pair<Sint, Sint>>{{1, 2}, {0, 0}});
  auto indices = apply_movement_op(padded, std::vector{t.r0, t.r1});
  CHECK(text(indices) == "((r0+-1) if (((r0<1)!=True)&(r0<4)) else Invalid), r1");
  CHECK(text(apply_reshape(t.g, ShapeVec{12}, ShapeVec{3, 4}, indices)) ==
        "((r0*4+r1+-4) if (((r0<1)!=True)&(r0<4)) else Invalid)");
}

TEST_CASE("pm_mops: index(reshape(x), i, j) indexes x, and keeps the dtype and the arg") {
  Tensors t;
  UOp buffer = t.tensor({24});
  UOp indexed = reshape(buffer, ShapeVec{6, 4}).index({t.r0, t.r1}, dtypes::float32.ptr(24)).with_arg(7);
  UOp out = graph_rewrite(indexed, pm_mops(), {.bottom_up = true});
  CHECK(out.is(Op::INDEX));
  CHECK(out.src(0) == buffer);
  CHECK(out.num_src() == 2);
  CHECK(out.dtype() == dtypes::float32.ptr(24));
  CHECK(out.arg() == Arg(7));
}

TEST_CASE("pm_mops: after(reshape(x), d) is reshape(after(x, d)) with the tag of the after") {
  Tensors t;
  UOp buffer = t.tensor({24}), dep = t.g.noop();
  UOp out = graph_rewrite(reshape(buffer, ShapeVec{6, 4}).after(dep).rtag(3), pm_mops(), {.bottom_up = true});
  CHECK(out == reshape(buffer.after(dep), ShapeVec{6, 4}).rtag(3));
}

TEST_CASE("pm_mops: end(reshape(x), r) is end(x, r); an index without a movement op stays") {
  Tensors t;
  UOp buffer = t.tensor({24});
  CHECK(graph_rewrite(reshape(buffer, ShapeVec{6, 4}).end(t.r0), pm_mops(), {.bottom_up = true}) == buffer.end(t.r0));
  UOp plain = buffer.index(t.r0);
  CHECK(graph_rewrite(plain, pm_mops(), {.bottom_up = true}) == plain);
}

TEST_CASE("pm_mops moves INDEX, AFTER and END below a movement op") {
  TensorTest t(pm_mops());
  UOp x = t.tensor(0, {6, 4}), y = t.transpose_axes(x), i = t.range(4), j = t.range(6, 1), done = t.graph.sink({});
  t.check_rule("index-through-movement", y.index(UOpSpan{i, j}, dtypes::float32),
               x.index(UOpSpan{j, i}, dtypes::float32));
  t.check_declines("index-through-movement", x.src(0).index(i));
  t.check_rule("after-below-movement", y.after(done).rtag(7), t.transpose_axes(x.after(done)).rtag(7));
  t.check_declines("after-below-movement", x.src(0).after(done));
  t.check_rule("end-drops-movement", y.end({i, j}), x.end({i, j}));
  t.check_declines("end-drops-movement", x.src(0).end(i));
}
