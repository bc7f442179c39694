#include "passes/tensor/stages.h"

#include <limits>

#include "passes/tensor/testing.h"

namespace tgc {
namespace {

TEST_CASE("values that are already in memory and empty tensors are folded") {
  TensorTest t(earliest_rewrites());
  UOp x = t.tensor(0, {4, 4}), none = t.tensor(1, {0, 4});
  t.check_rule("drop-detach", t.node(Op::DETACH, x.dtype(), x), x);
  t.check_rule("contiguous-of-buffer", t.make_contiguous(x).rtag(7), x.rtag(7));
  t.check_declines("contiguous-of-buffer", t.make_contiguous(t.transpose_axes(x)));
  t.check_rule("empty", none.exp2().rtag(7), none.const_like(0).rtag(7));
  t.check_declines("empty", x.exp2());
  auto reduced = [&](UOp u, Op op) { return reduce_axis(u, op, std::array<int64_t, 1>{0}); };
  UOp most = reduced(t.transpose_axes(none), Op::MAX), sum = reduced(none, Op::ADD);
  t.check_rule("reduce-of-nothing", sum, sum.const_like(0));
  t.check_rule("reduce-of-nothing", reduced(none, Op::MAX), sum.const_like(-std::numeric_limits<double>::infinity()));
  t.check_declines("reduce-of-nothing", most);
  t.check_declines("reduce-of-nothing", reduced(x, Op::ADD));
}

TEST_CASE("a long reduction is split in two") {
  TensorTest t(earliest_rewrites());
  UOp x = t.tensor(0, {65536});
  auto sum = [](UOp u, int64_t axis) { return reduce_axis(u, Op::ADD, std::array{axis}); };
  UOp parts = t.transpose_axes(reshape(x, ShapeVec{256, 256}));  // parts[i][p] is x[256 * p + i]: element i of part p
  t.check_rule("split-reduce", sum(x, 0).rtag(7),
               reshape(sum(t.make_contiguous(sum(parts, 0)), 1), ShapeVec{1}).rtag(7));
  t.check_declines("split-reduce", sum(t.tensor(0, {1024}), 0));
  // 65537 has no divisor from 8 to 256
  t.check_declines("split-reduce", sum(t.tensor(0, {65537}), 0));
  // the rule does not split an axis that is expanded from one element
  t.check_declines("split-reduce", sum(expand(t.tensor(0, {1}), ShapeVec{65536}), 0));
}

TEST_CASE("copies between devices are simplified") {
  TensorTest t(earliest_rewrites());
  UOp x = t.tensor(0, {4, 4}), file = t.tensor(1, {4, 4}, "DISK:weights"), moved = t.transpose_axes(file);
  t.check_rule("disk-copy-drops-contiguous", t.copy_to(t.make_contiguous(moved), "CPU"), t.copy_to(moved, "CPU"));
  t.check_declines("disk-copy-drops-contiguous", t.copy_to(t.make_contiguous(t.transpose_axes(x)), "CUDA"));
  t.check_rule("disk-copy-first", t.copy_to(moved, "CPU").rtag(7), t.transpose_axes(t.copy_to(file, "CPU")).rtag(7));
  t.check_declines("disk-copy-first", t.copy_to(t.transpose_axes(x), "CUDA"));
  UOp c = t.graph.constant(dtypes::float32, 2, t.graph.str("CPU"));
  t.check_rule("copy-of-const", t.copy_to(c, "CUDA"), t.graph.constant(dtypes::float32, 2, t.graph.str("CUDA")));
  t.check_declines("copy-of-const", t.copy_to(x, "CUDA"));
  UOp part = t.shrink_axes(x, {{0, 2}, {0, 4}});
  t.check_rule("copy-of-part", t.copy_to(part, "CUDA"), t.copy_to(t.make_contiguous(part), "CUDA"));
  t.check_declines("copy-of-part", t.copy_to(t.transpose_axes(x), "CUDA"));
  t.check_rule("copy-to-same", t.copy_to(x, "CPU").rtag(7), t.node(Op::NOOP, x.dtype(), x).rtag(7));
  t.check_declines("copy-to-same", t.copy_to(x, "CUDA"));
}

TEST_CASE("assignments to non-buffers and from permuted views are rewritten") {
  TensorTest t(earliest_rewrites());
  UOp x = t.tensor(0, {4, 4}), y = t.tensor(1, {4, 4});
  t.check_rule("assign-to-no-buffer", x.exp2().assign(y).rtag(7), t.make_contiguous(y).rtag(7));
  t.check_declines("assign-to-no-buffer", x.assign(y));
  t.check_rule("assign-from-permuted", x.assign(t.transpose_axes(x).exp2()),
               x.assign(t.make_contiguous(t.transpose_axes(x).exp2())));
  t.check_declines("assign-from-permuted", x.assign(x.exp2()));
  t.check_declines("assign-from-permuted", x.assign(t.transpose_axes(y)));
  t.check_throws("custom-kernel", t.node(Op::CUSTOM_KERNEL, dtypes::void_, x));
}

TEST_CASE("mop_cleanup merges reshapes without tags") {
  TensorTest t(mop_cleanup());
  UOp flat = t.tensor(0, {16}), middle = reshape(flat, ShapeVec{4, 4});
  t.check_rule("merge-reshapes", reshape(middle, ShapeVec{2, 8}), reshape(flat, ShapeVec{2, 8}));
  t.check_declines("merge-reshapes", reshape(middle, ShapeVec{2, 8}).rtag(7));
  t.check_declines("merge-reshapes", reshape(middle.rtag(7), ShapeVec{2, 8}));
}

TEST_CASE("add_tags numbers the nodes that may become buffers") {
  TensorTest t(add_tags());
  std::vector<UOp> numbered;
  UOp x = t.tensor(0, {4}), pair = t.tensor_on_pair(1, {4});
  t.check_rule("number", x.exp2(), x.exp2().rtag(t.graph.tuple({0})), numbered);
  t.check_declines("number", x.exp2().rtag(7), numbered);
  t.check_declines("number", x, numbered);
  t.check_rule("number-choice", mselect(pair.exp2(), 1), mselect(pair.exp2(), 1).rtag(t.graph.tuple({1})), numbered);
  t.check_declines("number-choice", mselect(pair, 1), numbered);
  CHECK(numbered == std::vector{x.exp2(), mselect(pair.exp2(), 1)});
}

TEST_CASE("a base with a contiguous copy of its permuted view is read through that copy") {
  TensorTest t(replace_contiguous());
  ContiguousViews views;
  UOp x = t.tensor(0, {4, 4}), base = x.src(0), copy = t.make_contiguous(t.transpose_axes(x));
  t.check_match_declines("found-contiguous", t.make_contiguous(t.shrink_axes(x, {{0, 2}, {0, 4}})), views);
  CHECK(views.contiguous_by_base.empty());
  t.check_declines("read-contiguous", base.exp2(), views);
  t.check_match_declines("found-contiguous", copy, views);
  UOp view = reshape(t.transpose_axes(copy), ShapeVec{16});
  REQUIRE(views.contiguous_by_base.contains(base));
  CHECK(views.contiguous_by_base.at(base) == view);
  t.check_rule("read-contiguous", base.exp2(), view.exp2(), views);
  t.check_declines("read-contiguous", x.exp2(), views);
}

}  // namespace
}  // namespace tgc
