#include "passes/tensor/movement_index.h"

#include <doctest/doctest.h>

#include "lib/uop/graph.h"
#include "lib/uop/movement.h"
#include "lib/uop/render.h"
#include "lib/rewrite/rewrite.h"

using namespace tgc;

namespace {

struct Tensors {
  Graph g;
  UOp r0 = g.range(Const(6), 0, AxisType::LOOP), r1 = g.range(Const(4), 1, AxisType::LOOP);

  // A buffer of these sizes, viewed as such.
  UOp tensor(ShapeVec shape) {
    Int size = 1;
    for (Sint s : shape) size = size * s.vmax();
    UOp device = g.node(Op::DEVICE, dtypes::void_, {}, g.str("CPU"));
    UOp buffer = g.node(Op::BUFFER, dtypes::float32, {g.node(Op::UNIQUE, dtypes::void_, {}, 0), device}, size);
    return shape.size() == 1 ? buffer : forced_reshape(buffer, shape);
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
  CHECK(text(apply_reshape(t.g, ShapeVec{6, 4}, ShapeVec{24}, std::vector{t.g.range(Const(24), 0, AxisType::LOOP)})) == "(r0//4), (r0%4)");
  CHECK(text(apply_reshape(t.g, ShapeVec{3, 8}, ShapeVec{6, 4}, std::vector{t.r0, t.r1})) == "(r0//2), ((r0*4+r1)%8)");
}

TEST_CASE("a reshape seen before, with other ranges, is found again") {
  Tensors t;
  UOp a = t.g.range(Const(6), 7, AxisType::REDUCE), b = t.g.range(Const(4), 9, AxisType::LOOP);
  CHECK(text(apply_reshape(t.g, ShapeVec{24}, ShapeVec{6, 4}, std::vector{t.r0, t.r1})) == "(r0*4+r1)");
  size_t before = t.g.size();
  CHECK(text(apply_reshape(t.g, ShapeVec{24}, ShapeVec{6, 4}, std::vector{a, b})) == "(r7*4+r9)");
  CHECK(t.g.size() < before + 20);  // no new rewrite of the division
}

TEST_CASE("a symbolic reshape") {
  Tensors t;
  UOp n = t.g.variable("n", 1, 8);
  CHECK(text(apply_reshape(t.g, ShapeVec{Sint(n) * Sint(4)}, ShapeVec{n, 4}, std::vector{t.g.range(n, std::array<Arg, 2>{0, AxisType::LOOP}), t.r1})) ==
        "((r0*4+r1)%(n*4))");
}

TEST_CASE("shrink adds the start, and only where there is one") {
  Tensors t;
  CHECK(text(shrink(t.tensor({8, 4}), std::vector<std::pair<Sint, Sint>>{{2, 8}, {0, 4}}), {t.r0, t.r1}) == "(r0+2), r1");
}

TEST_CASE("permute puts each index where its axis came from") {
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

TEST_CASE("a padded axis is gated, and a reshape keeps the gate outside") {
  Tensors t;
  UOp padded = pad(t.tensor({3, 4}), std::vector<std::pair<Sint, Sint>>{{1, 2}, {0, 0}});
  auto indices = apply_movement_op(padded, std::vector{t.r0, t.r1});
  CHECK(text(indices) == "((r0+-1) if (((r0<1)!=True)&(r0<4)) else Invalid), r1");
  CHECK(text(apply_reshape(t.g, ShapeVec{12}, ShapeVec{3, 4}, indices)) == "((r0*4+r1+-4) if (((r0<1)!=True)&(r0<4)) else Invalid)");
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

TEST_CASE("pm_mops: after(reshape(x), d) is reshape(after(x, d)), tagged as the after was") {
  Tensors t;
  UOp buffer = t.tensor({24}), dep = t.g.noop();
  UOp out = graph_rewrite(reshape(buffer, ShapeVec{6, 4}).after(dep).rtag(3), pm_mops(), {.bottom_up = true});
  CHECK(out == reshape(buffer.after(dep), ShapeVec{6, 4}).rtag(3));
}

TEST_CASE("pm_mops: end(reshape(x), r) is end(x, r); an index of no movement stays") {
  Tensors t;
  UOp buffer = t.tensor({24});
  CHECK(graph_rewrite(reshape(buffer, ShapeVec{6, 4}).end(t.r0), pm_mops(), {.bottom_up = true}) == buffer.end(t.r0));
  UOp plain = buffer.index(t.r0);
  CHECK(graph_rewrite(plain, pm_mops(), {.bottom_up = true}) == plain);
}
