#include "apps/tgc/pipeline_walk.h"

#include "lib/uop/copy.h"

namespace tgc {
namespace {

template <class Stages, class Job>
Status walk_stages(Stages stages, Job& job, UOp& current, std::string_view after, PipelineWatcher& watcher) {
  bool begun = after.empty();
  for (auto& stage : stages) {
    if (begun && (!stage.applies || stage.applies(job))) {
      watcher.stage(stage.name, current);
      auto result = run_stage(stage, job, current);
      if (!result) return result.diag();
      current = *result;
      if (auto status = watcher.stage_end(stage.name, current); !status) return status;
    }
    begun |= stage.name == after;
  }
  return Unit{};
}

struct Kernel {
  std::string name, target;  // the target that the input names, if any
  std::string after;         // the stage whose result it is; empty: an AST
};

Status walk_kernel(Graph& graph, UOp root, const Kernel& kernel, const PipelineOptions& options, PipelineWatcher& watcher) {
  auto target = options.resolve_target(kernel.target, graph.settings());
  if (!target) return target.diag();
  KernelJob job{graph, *target};
  auto opts = options.forced_opts(graph);
  if (!opts) return opts.diag();
  job.opts = *opts;
  UOp current = kernel.after.empty() ? begin_kernel(job, root) : root;
  watcher.graph(kernel.name, target->name(), current);
  if (auto status = walk_stages(kernel_stages(), job, current, kernel.after, watcher); !status) return status;
  KernelOutputs outputs(job, current);
  watcher.stage("linear", current);
  if (auto& list = outputs.list(); !list) return list.diag();
  if (auto status = watcher.stage_end("linear", current); !status) return status;
  if (auto status = watcher.outputs(outputs); !status) return status;
  watcher.graph_end();
  return Unit{};
}

Status walk_tensor_graph(const InputGraph& in, const PipelineOptions& options, PipelineWatcher& watcher) {
  TensorJob job(*in.graph);
  UOp current = in.root;
  watcher.graph(in.info.name, "", current);
  if (auto status = walk_stages(tensor_stages(), job, current, "", watcher); !status) return status;
  watcher.graph_end();
  auto schedule = catch_failures([&] { return create_schedule(job, current); });
  if (!schedule) return schedule.diag();
  size_t number = 0;
  for (const ScheduleItem& item : schedule->items) {
    if (!item.ast.is(Op::SINK)) continue;
    Graph graph(in.graph->settings());  // its own, and freed with it
    Kernel kernel{in.info.name + "." + std::to_string(number++), in.info.target, ""};
    if (auto status = walk_kernel(graph, copy_into(graph, item.ast), kernel, options, watcher); !status) return status;
  }
  return Unit{};
}

}  // namespace

Status walk_pipeline(const InputGraph& in, const PipelineOptions& options, PipelineWatcher& watcher) {
  if (!in.list.empty()) return Diag{.message = "a linear list has no stages before it", .file = in.file, .expected = "a graph"};
  if (in.is_tensor_graph) return walk_tensor_graph(in, options, watcher);
  Kernel kernel{in.info.name, in.info.target, ""};
  if (const Stage* stage = find_stage(in.info.stage)) kernel.after = stage->name;
  return walk_kernel(*in.graph, in.root, kernel, options, watcher);
}

}  // namespace tgc
