#include "passes/tensor/stages.h"

#include <algorithm>

#include "lib/uop/facts.h"

namespace tgc {

using namespace pat;

namespace {

UOp next_number(TensorJob& job) {
  return job.graph.node(Op::LUNIQUE, dtypes::void_, {}, int64_t(job.input_buffers.size()));
}

UOp number_buffer(TensorJob& job, UOp b) {
  UOp out = b.with_src({next_number(job), b.src(1)});
  inherit_facts(b, out);
  job.input_buffers.emplace_back(b, out);
  return out;
}

UOp number_const(TensorJob& job, UOp b) {
  UOp out = b.with_src({b.src(0), next_number(job)});
  inherit_facts(b, out);
  job.input_buffers.emplace_back(b, out);
  return out;
}

UOp strip_bind(TensorJob& job, UOp b) {
  std::string name(b.src(0).arg()[0].text());
  int64_t value = b.src(1).arg().as_int().int64_or_throw("the value of a variable");
  auto known = std::find_if(job.var_vals.begin(), job.var_vals.end(), [&](auto& v) { return v.first == name; });
  if (known == job.var_vals.end()) job.var_vals.emplace_back(name, value);
  else if (known->second != value)
    throw Failure("the variable " + name + " is bound to " + std::to_string(known->second) + " and to " +
                  std::to_string(value));
  UOp out = b.with_src(b.src(0));
  job.input_buffers.emplace_back(b, out);
  return out;
}

}  // namespace

const RuleSet& pm_pre_sched_cache() {
  static const RuleSet set("pm_pre_sched_cache", {
      rule("number-buffer", node(Op::BUFFER, node(Op::UNIQUE), node(Op::DEVICE)).as(b), with<number_buffer>(b)),
      rule("number-const", node(Op::CONST, node(Op::DEVICE), node(Op::UNIQUE)).as(b), with<number_const>(b)),
      rule("strip-bind", node(Op::BIND, node(Op::DEFINE_VAR), node(Op::CONST)).as(b), with<strip_bind>(b)),
  });
  return set;
}

UOp rewrite_for_sched_cache(TensorJob& job, UOp sink) {
  constexpr size_t kNodesMade = 10, kMaxReserved = 1 << 16;
  sink.graph().reserve(std::min(kNodesMade * sink.graph().size(), kMaxReserved));
  job.original_sink = sink;
  return job.normalized_sink =
             graph_rewrite(sink, pm_pre_sched_cache(), {.ctx = job, .name = "rewrite for sched cache"});
}

Sha256 sched_cache_key(UOp rewritten) { return key_of(rewritten); }

}  // namespace tgc
