#include "passes/tensor/stages.h"

#include "passes/tensor/testing.h"

namespace tgc {
namespace {

struct Halves {
  explicit Halves(TensorTest& t, int64_t number = 0) : part(t.tensor_on_pair(number, {2, 4})), whole(multi(part, 0)) {}
  UOp part, whole;
};

TEST_CASE("movement ops on a MULTI become movement ops on its parts") {
  TensorTest t(multi_pm());
  auto [part, m] = Halves(t);
  t.check_rule("reshape-multi", reshape(m, ShapeVec{4, 2, 2}), multi(reshape(part, ShapeVec{2, 2, 2}), 0));
  UOp none = t.tensor_on_pair(2, {0, 2});
  t.check_rule("reshape-multi", reshape(multi(none, 1), ShapeVec{0}), multi(reshape(none, ShapeVec{0}), 1));
  UOp column = t.tensor_on_pair(1, {2, 1});
  t.check_rule("expand-multi", expand(multi(column, 0), ShapeVec{4, 3}), multi(expand(column, ShapeVec{2, 3}), 0));
  t.check_rule("pad-multi", t.pad_axes(m, {{0, 0}, {1, 2}}), multi(t.pad_axes(part, {{0, 0}, {1, 2}}), 0));
  t.check_throws("pad-multi", t.pad_axes(m, {{1, 0}, {0, 0}}));
  t.check_rule("permute-multi", t.transpose_axes(m), multi(t.transpose_axes(part), 1));
  bool columns[] = {false, true}, rows[] = {true, false};
  t.check_rule("flip-multi", flip(m, columns), multi(flip(part, columns), 0));
  t.check_throws("flip-multi", flip(m, rows));
  t.check_rule("shrink-multi", t.shrink_axes(m, {{0, 4}, {1, 3}}), multi(t.shrink_axes(part, {{0, 2}, {1, 3}}), 0));
  t.check_rule("shrink-multi", t.shrink_axes(m, {{2, 4}, {0, 4}}), copy_to_device(part, t.device_pair(), 1));
  t.check_throws("shrink-multi", t.shrink_axes(m, {{1, 3}, {0, 4}}));
  t.check_throws("shrink-multi", t.shrink_axes(m, {{2, 4}, {1, 3}}));
}

TEST_CASE("other ops on a MULTI become ops on its parts") {
  TensorTest t(multi_pm());
  auto [part, m] = Halves(t);
  auto [other_part, other] = Halves(t, 1);
  t.check_rule("alu-multi", m + other, multi(part + other_part, 0));
  t.check_rule("reduce-multi", reduce_axis(m, Op::ADD, std::array<int64_t, 1>{1}),
               multi(reduce_axis(part, Op::ADD, std::array<int64_t, 1>{1}), 0));
  t.check_rule("reduce-multi", reduce_axis(m, Op::MAX, std::array<int64_t, 1>{0}),
               allreduce(reduce_axis(part, Op::MAX, std::array<int64_t, 1>{0}), Op::MAX,
                         make_device_node(t.graph, t.device_pair())));
  t.check_rule("pass-through-multi", m.cast(dtypes::int32), multi(part.cast(dtypes::int32), 0));
  t.check_rule("assign-multi", m.assign(other), multi(part.assign(other_part), 0));
  t.check_throws("assign-multi", m.assign(multi(t.tensor_on_pair(2, {4, 2}), 1)));
  UOp everywhere = make_device_node(t.graph, t.device_pair()), one = t.device("A");
  t.check_rule("copy-multi", t.node(Op::COPY, m.dtype(), {m, one}), allreduce(unshard(part, 0), Op::ADD, one));
  t.check_rule("allreduce-multi", allreduce(m, Op::MAX, everywhere), multi(allreduce(part, Op::MAX, everywhere), 0));
  UOp contiguous = t.make_contiguous(part), kernel = t.node(Op::CUSTOM_KERNEL, dtypes::void_, {m, contiguous});
  t.check_rule("custom-kernel-of-multi", kernel, t.node(Op::CUSTOM_KERNEL, dtypes::void_, {part, contiguous}));
  t.check_declines("custom-kernel-of-multi", t.node(Op::CUSTOM_KERNEL, dtypes::void_, contiguous));
  t.check_rule("after-custom-kernel-of-multi", m.after(kernel), multi(part.after(kernel), 0));
}

}  // namespace
}  // namespace tgc
