#include "passes/tensor/stages.h"

#include "passes/tensor/tensor_job.h"
#include "passes/tensor/testing.h"

namespace tgc {
namespace {

TEST_CASE("the cache key graph has numbered buffers and constants and unbound variables") {
  TensorTest t(pm_pre_sched_cache());
  TensorJob job(t.graph);
  auto unique = [&](int64_t number) { return t.node(Op::UNIQUE, dtypes::void_, {}, number); };
  auto local = [&](int64_t number) { return t.node(Op::LUNIQUE, dtypes::void_, {}, number); };
  UOp cpu = t.device("CPU"), v = t.var("v", 0, 9), three = t.constant(dtypes::index, 3);
  auto buffer = [&](UOp name) { return t.node(Op::BUFFER, dtypes::float32, {name, cpu}, 16); };
  auto constant = [&](UOp name) { return t.node(Op::CONST, dtypes::float32, {cpu, name}, 1.0); };
  UOp bound = t.node(Op::BIND, dtypes::index, {v, three});
  t.check_rule("number-buffer", buffer(unique(77)), buffer(local(0)), job);
  t.check_declines("number-buffer", buffer(local(0)), job);
  t.check_rule("number-const", constant(unique(78)), constant(local(1)), job);
  t.check_rule("strip-bind", bound, t.node(Op::BIND, dtypes::index, v), job);
  t.check_throws("strip-bind", t.node(Op::BIND, dtypes::index, {v, three.const_like(4)}), job);
  CHECK(job.input_buffers.size() == 3);
  REQUIRE(job.var_vals.size() == 1);
  CHECK((job.var_vals[0].first == "v" && job.var_vals[0].second == 3));
}

}  // namespace
}  // namespace tgc
