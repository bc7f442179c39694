#include "lib/execute/lower.h"

namespace tgc {

KernelBeginning begin_at(KernelJob& job, const KernelGraph& kernel) {
  const Stage* done = kernel.stage.empty() ? nullptr : find_stage(kernel.stage);
  if (!done) return {begin_kernel(job, kernel.root), &kernel_stages().front()};
  return {kernel.root, done == &kernel_stages().back() ? nullptr : done + 1};
}

Result<std::vector<UOp>> lower_kernel(const KernelGraph& kernel, const Target& target, const LowerOptions& options) {
  if (!kernel.list.empty()) return std::vector<UOp>(kernel.list.begin(), kernel.list.end());
  return catch_failures([&] {
    ExecuteObserver* watcher = options.observer && options.observer->watches_kernels() ? options.observer : nullptr;
    KernelJob job{.graph = kernel.root.graph(), .target = target, .opts = kernel.opts};
    if (options.names) job.name_counts = *options.names;
    auto [sink, next] = begin_at(job, kernel);
    if (watcher && kernel.stage.empty()) watcher->kernel_begins(sink);
    if (next) sink = run_kernel_stages(job, sink, next).value_or_throw();
    KernelOutputs outputs(job, sink);
    if (watcher) watcher->kernel_lowered(sink, outputs).value_or_throw();
    if (!outputs.list()) throw Failure(outputs.list().diag());
    if (options.names) *options.names = std::move(job.name_counts);
    return *outputs.list();
  });
}

Result<Executable> make_executable(const KernelGraph& kernel, Placement& place, const LowerOptions& options) {
  if (!place.target) return kernel.list.empty() ? Executable::for_ref(kernel.root) : Executable::for_ref(kernel.list);
  auto list = lower_kernel(kernel, *place.target, options);
  if (!list) return list.diag();
  return place.is_ref ? Executable::for_ref(*list) : Executable::for_device(*list, *place.target, *place.device);
}

}  // namespace tgc
