#include "passes/tensor/testing.h"

namespace tgc {
namespace {

TEST_CASE("copies between one device and several, MSELECT and MSTACK are lowered") {
  TensorTest t(replace_allreduce());
  UOp part = t.tensor_on_pair(0, {2, 4}), whole = t.tensor(1, {2, 4}, "A"), other = t.tensor(2, {2, 4}, "B");
  UOp many = t.copy_to_pair(whole), stack = mstack(whole, std::array{whole, other});
  t.check_rule("copy-to-many", many, mstack(many, std::array{t.copy_to(whole, "A"), t.copy_to(whole, "B")}));
  t.check_declines("copy-to-many", t.copy_to(whole, "B"));
  t.check_rule("copy-to-one", t.copy_to(part, "B"), t.copy_to(mselect(part, 0), "B"));
  t.check_declines("copy-to-one", t.copy_to(whole, "B"));
  t.check_throws("copy-to-one", t.copy_to(t.var("n", 0, 3), "B"));  // a variable has no device
  t.check_rule("select-of-stack", mselect(stack, 1), other);
  t.check_throws("select-of-stack", mselect(stack, 2));
  UOp flat = part.src(0);
  t.check_rule("select-below-movement", mselect(part, 1), reshape(mselect(flat, 1), ShapeVec{2, 4}));
  t.check_declines("select-below-movement", mselect(flat, 1));
  t.check_rule("shrink-of-stack", t.shrink_axes(stack, {{0, 1}, {0, 4}}),
               stack.with_src({t.make_contiguous(t.shrink_axes(whole, {{0, 1}, {0, 4}})),
                          t.make_contiguous(t.shrink_axes(other, {{0, 1}, {0, 4}}))}));
}

TEST_CASE("a small allreduce copies every part to every device") {
  TensorTest t(replace_allreduce());
  UOp part = t.tensor_on_pair(0, {2, 4}), one = t.device("A"), red = allreduce(part, Op::MAX, one);
  UOp source = t.make_contiguous(part.exp2()), of_value = allreduce(part.exp2(), Op::MAX, one);
  auto copy = [&](int64_t i) { return t.node(Op::COPY, part.dtype(), {mselect(source, i), one}); };
  t.check_rule("allreduce", of_value, copy(0).maximum(copy(1)));
  t.check_declines("allreduce", t.node(Op::ALLREDUCE, part.dtype(), {t.tensor(1, {2, 4}), one}, Op::MAX));
  t.check_match_declines("allreduce-in-groups", red, {});
}

}  // namespace
}  // namespace tgc
