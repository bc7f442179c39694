// The pipeline: one ordered table of stages that running, dumping, timing, tracing, verifying and checking all read.
// Adding a stage is one row of pipeline.cpp. Mirrors tinygrad codegen/__init__.py (full_rewrite_to_sink) for kernels,
// engine/schedule.py and schedule/rangeify.py (get_rangeify_map) for tensor graphs.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/rewrite/rewrite.h"
#include "lib/target/target.h"
#include "lib/uop/graph.h"
#include "lib/uop/sint.h"
#include "passes/tensor/schedule.h"

namespace tgc {

// The dtypes that image buffers had before they became images, by DEFINE_GLOBAL number.
using ImageBuffers = std::map<int64_t, DType>;

// What a stage works with besides the graph. One job compiles one kernel.
struct KernelJob {
  Graph& graph;
  const Target& target;
  bool optimize = true;                          // false: the kernel is tagged as optimized already
  std::optional<std::vector<Arg>> opts = {};     // forces the optimizer's list (Opt records), as opts_to_apply
  std::map<std::string, int> name_counts = {};   // kernel names given so far: the second of a name gets "n1"
  std::optional<ImageBuffers> image_buffers = {};  // noted by "create image buffers" for the stage after it

  const Settings& settings() const { return graph.settings(); }
};

enum class Level : uint8_t { Tensor, Kernel };

using RuleSetFunction = const RuleSet& (*)();

// One row of the table. `Job` is what the stages of its level work with: a KernelJob or a TensorJob.
template <class Job>
struct StageOf {
  std::string_view name;    // tinygrad's: "postopt symbolic"
  std::string_view alias;   // short: "postopt"; never empty
  Level level;
  const RuleSet* (*rules)(const Job&);  // the rule set it applies; null when it is no rewrite by rules
  bool bottom_up;
  bool (*applies)(const Job&);          // null: always
  // may throw Failure; null: one graph_rewrite by `rules`, its context the `const Target`
  UOp (*run)(Job&, UOp sink);
  // the rule sets of the rewrites inside: of those that its rules do, and of those that it does besides
  std::span<const RuleSetFunction> inside = {};

  std::string slug() const;             // "postopt-symbolic"
};
using Stage = StageOf<KernelJob>;
using TensorStage = StageOf<TensorJob>;

// The stages of a tensor graph, in order. The last one leaves the graph of kernels that create_schedule takes.
std::span<const TensorStage> tensor_stages();

// The stages of a kernel, in order. The last one leaves the graph that linearize takes.
std::span<const Stage> kernel_stages();

// The stage of that name in any case, slug or alias; null when there is none.
const Stage* find_stage(std::string_view text);
const TensorStage* find_tensor_stage(std::string_view text);

// The AST as the first stage takes it: with a KernelInfo, tinygrad's default one when it has none. An AST that is
// tagged is optimized already, and the job notes it.
UOp begin_kernel(KernelJob& job, UOp ast);

// Runs one stage. A Failure inside becomes a Diag whose message begins with the stage's name.
Result<UOp> run_stage(const Stage& stage, KernelJob& job, UOp sink);
Result<UOp> run_stage(const TensorStage& stage, TensorJob& job, UOp sink);

// Runs the stages from `first` (null: all) to the end; `seen`, if any, is called after each with its result.
Result<UOp> run_kernel_stages(KernelJob& job, UOp ast, const Stage* first = nullptr,
                              const std::function<void(const Stage&, UOp)>& seen = {});

// The same for the stages of a tensor graph, all of them: what one notes in the job the next ones need.
Result<UOp> run_tensor_stages(TensorJob& job, UOp sink, const std::function<void(const TensorStage&, UOp)>& seen = {});

// A tensor graph's kernels in the order they run, with their buffers: all stages, then create_schedule.
Result<Schedule> make_schedule(TensorJob& job, UOp sink);

// The linear list of a fully rewritten kernel: linearize and its cleanups (codegen/late/linearizer.py,
// pm_linearize_cleanups).
Result<std::vector<UOp>> linear_list(KernelJob& job, UOp sink);

}  // namespace tgc
