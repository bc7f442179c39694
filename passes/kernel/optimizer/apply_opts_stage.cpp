#include "passes/kernel/optimizer/apply_opts_stage.h"

#include "passes/kernel/optimizer/heuristic.h"

namespace tgc {
namespace {

std::optional<std::vector<Opt>> opts_to_apply(const KernelJob& job, UOp sink) {
  std::vector<Arg> records;
  if (job.opts) records = *job.opts;
  else if (Arg own = sink.arg().is(RecordClass::KernelInfo) ? sink.arg()[4] : Arg(); own.is_tuple())
    records.assign(own.items().begin(), own.items().end());
  else return std::nullopt;
  std::vector<Opt> out;
  for (Arg record : records) out.push_back(to_opt(record));
  return out;
}

}  // namespace

UOp apply_opts(KernelJob& job, UOp sink) {
  if (!sink.tag().is_none()) return sink;
  Scheduler k(sink, job.target);
  k.convert_loop_to_global();
  if (auto opts = opts_to_apply(job, sink)) {
    for (const Opt& opt : *opts) k.apply_opt(opt);
  } else if (!job.settings().NOOPT && k.applied_opts().empty() && k.facts().bufferizes.empty()) {
    k = hand_coded_optimizations(k);
  }
  std::optional<std::string_view> name;
  if (sink.arg().is(RecordClass::KernelInfo) && sink.arg()[0].text() != "test") name = sink.arg()[0].text();
  return k.optimized_ast(name, job.name_counts);
}

}  // namespace tgc
