#include "passes/kernel/optimizer/optimizer.h"

namespace tgc {
namespace {

std::optional<std::vector<Opt>> opts_to_apply(const KernelJob& job, UOp sink) {
  std::vector<Arg> records;
  if (job.opts) records = *job.opts;
  else if (Arg own = sink.arg().is(RecordClass::KernelInfo) ? sink.arg()[4] : Arg(); own.is_tuple())
    records.assign(own.items().begin(), own.items().end());
  else return std::nullopt;
  std::vector<Opt> out;
  for (Arg record : records) out.push_back(opt_from_arg(record));
  return out;
}

FindOptsHook& find_opts_hook() {
  static FindOptsHook find;
  return find;
}

}  // namespace

void set_find_opts(FindOptsHook find) { find_opts_hook() = std::move(find); }

std::optional<std::vector<Opt>> find_opts(const Scheduler& kernel) {
  return find_opts_hook() ? find_opts_hook()(kernel) : std::nullopt;
}

UOp apply_opts(KernelJob& job, UOp sink) {
  if (!sink.tag().is_none()) return sink;
  Scheduler k(sink, job.target);
  k.convert_loop_to_global();
  auto opts = opts_to_apply(job, sink);
  if (!opts) opts = find_opts(k);
  if (opts) {
    for (const Opt& opt : *opts) k.apply_opt(opt);
  } else if (!job.settings().NOOPT && k.applied_opts().empty() && k.facts().bufferizes.empty()) {
    k = hand_coded_optimizations(k);
  }
  std::optional<std::string_view> name;
  if (sink.arg().is(RecordClass::KernelInfo) && sink.arg()[0].text() != "test") name = sink.arg()[0].text();
  return k.make_optimized_ast(name, job.kernel_name_counts);
}

UOp sink_with_opts(UOp sink, std::span<const Arg> opts) {
  Graph& g = sink.graph();
  std::vector<Arg> info{g.str("test"), g.tuple({}), false, g.tuple({}), Arg()};
  if (!sink.arg().is_none()) info.assign(sink.arg().items().begin(), sink.arg().items().end());
  info.back() = g.tuple(opts);
  return sink.with_arg(g.record(RecordClass::KernelInfo, info));
}

}  // namespace tgc
