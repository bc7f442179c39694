// The pipeline: two ordered tables of stages, one for kernels and one for tensor graphs. To add a stage, add one row to
// pipeline.cpp. Mirrors tinygrad codegen/__init__.py (full_rewrite_to_sink) for kernels, engine/schedule.py and
// schedule/rangeify.py (get_rangeify_map) for tensor graphs.
#pragma once
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

// The dtype that each buffer had before it became an image. The keys are DEFINE_GLOBAL numbers.
using ImageBufferDTypes = std::map<int64_t, DType>;

// The state that the stages of one kernel share, except the current root (`sink`): each stage takes and returns a root.
struct KernelJob {
  Graph& graph;
  const Target& target;
  bool should_run_optimizer = true;  // false if the AST is already optimized
  std::optional<std::vector<Arg>> opts = {};       // if set, the Opt records that the stage "apply opts" applies
  // number of uses of each kernel name: the second E_4 is named E_4n1
  std::map<std::string, int> kernel_name_counts = {};
  std::optional<ImageBufferDTypes> image_buffer_dtypes = {};

  const Settings& settings() const { return graph.settings(); }
};

using RuleSetFunction = const RuleSet& (*)();

enum class StageKind : uint8_t {
  Plain,
  Optimizer,   // applies the optimizer's opts
  FinalRules,  // applies the rules of the renderer, which replace what the renderer cannot print
};

// One row of the table. `Job` is the state that the stages of a level share: KernelJob or TensorJob.
template <class Job>
struct JobStage {
  std::string_view name;     // tinygrad's name, such as "postopt symbolic"
  std::string_view alias;    // a short name, never empty, such as "postopt"
  std::string_view purpose;  // what the stage does, for `tgc stages`: "splits large reductions"
  StageKind kind = StageKind::Plain;
  // returns the rule set that the stage applies; null if `run` rewrites the graph without a rule set
  const RuleSet* (*rules)(const Job&) = nullptr;
  bool bottom_up = false;                         // true if `rules` rewrite a node before its sources
  bool (*applies)(const Job&) = nullptr;          // returns false if a job skips the stage; null if no job skips it
  // Runs the stage; may throw Failure. If null, the stage is one graph_rewrite by `rules`, whose context is the Target
  // for a kernel stage.
  UOp (*run)(Job&, UOp sink) = nullptr;
  // The rule sets of the nested rewrites that the rules of the stage or `run` start.
  std::span<const RuleSetFunction> nested_rule_sets = {};

  std::string slug() const;  // returns the name as used in file names, such as "postopt-symbolic"
};
using Stage = JobStage<KernelJob>;
using TensorStage = JobStage<TensorJob>;

// The stages of a tensor graph, in order. The last stage's result is the graph of kernels that create_schedule expects.
std::span<const TensorStage> tensor_stages();

// The stages of a kernel, in order. The last stage's result is the graph that make_linear_list expects.
std::span<const Stage> kernel_stages();

// Returns the AST with the KernelInfo that the first stage expects: the AST's own, or tinygrad's default if the AST has
// none. Sets job.should_run_optimizer to false if the AST is tagged, that is, already optimized, else to true.
UOp begin_kernel(KernelJob& job, UOp ast);

// Runs one stage. The message of an error names the stage. With SPEC >= 1, verifies the AST before the first kernel
// stage; with SPEC >= 2, also verifies the result of every stage.
template <class Job>
Result<UOp> run_stage(const JobStage<Job>& stage, Job& job, UOp sink);

// Returns the linear list of a fully rewritten kernel, with each gated store between an IF and an ENDIF
// (codegen/late/linearizer.py:linearize, codegen/__init__.py:pm_linearize_cleanups). Returns an error if the graph
// has an IF or ENDIF or cannot be ordered, or, with SPEC >= 1, if the list violates the specification of programs.
Result<std::vector<UOp>> make_linear_list(KernelJob& job, UOp sink);

}  // namespace tgc
