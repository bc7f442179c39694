// The whole pipeline over one input graph, for commands that watch it: the stages of a tensor graph, then those of each of its kernels.
#pragma once
#include "apps/tgc/input.h"
#include "lib/compilation/outputs.h"

namespace tgc {

// What a walk tells, in order. Between `stage` and `stage_end` that stage runs.
class PipelineWatcher {
 public:
  virtual ~PipelineWatcher() = default;
  // A graph begins: a tensor graph (no target) or a kernel. It lives until `graph_end`.
  virtual void graph(const std::string& /*name*/, std::string_view /*target*/, UOp /*root*/) {}
  virtual void stage(std::string_view /*name*/, UOp /*input*/) {}
  virtual Status stage_end(std::string_view /*name*/, UOp /*result*/) { return Unit{}; }
  // The kernel is fully rewritten, and what is made of it can be asked for. The stage "linear" was told when the list was asked for first.
  virtual Status outputs(KernelOutputs& /*outputs*/) { return Unit{}; }
  virtual void graph_end() {}
};

// `in` may be the graph of an AST, of a stage's result (the walk resumes after it), or a tensor graph.
Status walk_pipeline(const InputGraph& in, const PipelineOptions& options, PipelineWatcher& watcher);

}  // namespace tgc
