// The pipeline: the ordered tables of stages, which running, dumping, timing, tracing, verifying and checking read. To
// add a stage, add a row in pipeline.cpp. Mirrors tinygrad codegen/__init__.py:full_rewrite_to_sink for kernels, and
// engine/schedule.py and schedule/rangeify.py:get_rangeify_map for tensor graphs.
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

// The original dtype of each buffer that became an image, by DEFINE_GLOBAL number.
using ImageBuffers = std::map<int64_t, DType>;

// The state of the stages that compile one kernel.
struct KernelJob {
  Graph& graph;
  const Target& target;
  bool optimize = true;                          // false: the AST is tagged as optimized; skips the optimizer stages
  std::optional<std::vector<Arg>> opts = {};     // forced opts (Opt records); they replace the AST's opts_to_apply
  std::map<std::string, int> name_counts = {};   // how often each kernel name was used; the second use gets "n1"
  std::optional<ImageBuffers> image_buffers = {};  // set by "create image buffers" for the next stage

  const Settings& settings() const { return graph.settings(); }
};

enum class Level : uint8_t { Tensor, Kernel };

using RuleSetFunction = const RuleSet& (*)();

// One row of a table. `Job` is KernelJob or TensorJob, depending on the level.
template <class Job>
struct StageOf {
  std::string_view name;    // tinygrad's name: "postopt symbolic"
  std::string_view alias;   // short name: "postopt"; never empty
  Level level;
  const RuleSet* (*rules)(const Job&);  // the rule set of the stage; null if the stage is not a rewrite
  bool bottom_up;
  bool (*applies)(const Job&);          // whether the stage runs; null: always
  // runs the stage, may throw Failure; null: one graph_rewrite by `rules`, for kernels with the context `const Target`
  UOp (*run)(Job&, UOp sink);
  // the rule sets of nested rewrites, started by the stage's rules or by `run`
  std::span<const RuleSetFunction> inside = {};

  std::string slug() const;             // "postopt-symbolic"
};
using Stage = StageOf<KernelJob>;
using TensorStage = StageOf<TensorJob>;

// The stages of a tensor graph, in order. The result of the last one is the input of create_schedule().
std::span<const TensorStage> tensor_stages();

// The stages of a kernel, in order. The result of the last one is the input of linearize().
std::span<const Stage> kernel_stages();

// Finds a stage by name, slug or alias, ignoring case. Returns null if there is none.
const Stage* find_stage(std::string_view text);
const TensorStage* find_tensor_stage(std::string_view text);

// Returns the AST for the first stage: adds tinygrad's default KernelInfo if it has none. Sets job.optimize to false if
// the AST is tagged as optimized.
UOp begin_kernel(KernelJob& job, UOp ast);

// Runs one stage. A Failure becomes a Diag whose message starts with the stage's name. With SPEC=1, verifies the AST
// before the first kernel stage; with SPEC=2, also the result of every stage.
Result<UOp> run_stage(const Stage& stage, KernelJob& job, UOp sink);
Result<UOp> run_stage(const TensorStage& stage, TensorJob& job, UOp sink);

// Runs the stages that apply, from `first` (null: the first one) to the last. Calls `seen`, if any, after each stage
// with the stage and its result.
Result<UOp> run_kernel_stages(KernelJob& job, UOp ast, const Stage* first = nullptr,
                              const std::function<void(const Stage&, UOp)>& seen = {});

// Runs all stages of a tensor graph. There is no `first`, because later stages need what earlier ones record in the
// job.
Result<UOp> run_tensor_stages(TensorJob& job, UOp sink, const std::function<void(const TensorStage&, UOp)>& seen = {});

// Runs all stages of a tensor graph, then create_schedule().
Result<Schedule> make_schedule(TensorJob& job, UOp sink);

// Returns the linear list of a fully rewritten kernel: linearize(), then wrap_gated_stores(). With SPEC>=1, verifies
// it.
Result<std::vector<UOp>> linear_list(KernelJob& job, UOp sink);

}  // namespace tgc
