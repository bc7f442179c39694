#include "lib/execute/lower.h"

#include "lib/compilation/compilation.h"

namespace tgc {

namespace {

std::vector<UOp> lower_to_list(const KernelGraph& kernel, const Target& target, const LowerOptions& options) {
  InputGraph in{.graph = borrow_graph(kernel.root.graph()), .root = kernel.root, .info = {.stage = kernel.stage}};
  CompilationSpec spec{.target = target.name(), .opts = kernel.opts};
  if (options.kernel_name_counts) spec.kernel_name_counts = *options.kernel_name_counts;
  Compilation begun = std::move(Compilation::begin(std::move(in), std::move(spec)).value_or_throw());
  ExecuteObserver* watcher = options.observer && options.observer->observes_kernels() ? options.observer : nullptr;
  if (watcher && !begun.input_stage()) watcher->on_kernel_begin(begun.ast());
  KernelOutputs* outputs = begun.outputs().value_or_throw();
  if (watcher) watcher->on_kernel_lowered(begun.current_graph(), *outputs).value_or_throw();
  if (options.kernel_name_counts) *options.kernel_name_counts = begun.kernel_name_counts();
  Result<std::vector<UOp>> list = begun.list();
  return std::move(list.value_or_throw());
}

}  // namespace

Result<std::vector<UOp>> lower_kernel(const KernelGraph& kernel, const Target& target, const LowerOptions& options) {
  if (!kernel.linear_list.empty()) return std::vector<UOp>(kernel.linear_list.begin(), kernel.linear_list.end());
  return catch_failures([&] { return lower_to_list(kernel, target, options); });
}

Result<Executable> make_executable(const KernelGraph& kernel, Placement& place, const LowerOptions& options) {
  if (!place.target)
    return kernel.linear_list.empty() ? Executable::make_for_ref(kernel.root)
                                      : Executable::make_for_ref(kernel.linear_list);
  auto list = lower_kernel(kernel, *place.target, options);
  if (!list) return list.diag();
  return place.is_ref ? Executable::make_for_ref(*list)
                      : Executable::make_for_device(*list, *place.target, *place.device, options.compile_seconds);
}

}  // namespace tgc
