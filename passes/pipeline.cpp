#include "passes/pipeline.h"

#include <algorithm>

#include "lib/spec/spec.h"
#include "passes/kernel/optimizer/optimizer.h"
#include "passes/kernel/stages.h"
#include "passes/symbolic/symbolic.h"
#include "passes/tensor/movement_index.h"
#include "passes/tensor/stages.h"

namespace tgc {
namespace {

template <const RuleSet& (*set)()>
constexpr auto fixed_rules = [](const auto&) -> const RuleSet* { return &set(); };

const RuleSet& postopt_symbolic() {
  static const RuleSet set("postopt symbolic", {&sym(), &pm_move_where_on_load()});
  return set;
}

bool should_optimize(const KernelJob& job) { return job.should_run_optimizer; }

// Checks that the graph to be scheduled is a valid tensor graph, if the compilation began with the first stage; then
// runs the stage "multi_pm".
UOp verify_and_rewrite_multi(TensorJob& job, UOp sink) {
  if (auto violation = job.original_sink ? verify_graph(job.original_sink, Spec::Tensor) : std::nullopt)
    throw Failure("not a well-formed tensor graph: " + violation->text());
  return rewrite_multi(job, sink);
}

UOp remove_tags(TensorJob& job, UOp sink) {
  for (UOp s : sink.src()) job.sink_tags.push_back(s.tag());
  return graph_rewrite(sink, remove_all_tags(), {.name = "remove all tags"});
}

UOp split_loop_ranges(KernelJob&, UOp sink) {
  SplitRangesContext ctx;
  return graph_rewrite(sink, split_ranges(), {.ctx = ctx, .name = "split ranges"});
}

template <UOp (*function)(UOp)>
constexpr auto run_on_sink = [](auto&, UOp sink) { return function(sink); };

template <const RuleSet& (*... sets)()>
constexpr RuleSetFunction kRuleSets[] = {sets...};
constexpr std::span<const RuleSetFunction> kSimplify = kRuleSets<symbolic, substitute_rules>;
constexpr std::span<const RuleSetFunction> kMovement =
    kRuleSets<reshape_index_rules, pad_condition_rules, symbolic, substitute_rules>;

constexpr TensorStage kTensorStages[] = {
    {.name = "rewrite for sched cache",
     .alias = "sched-cache",
     .purpose = "replaces buffers by numbers, so that equal graphs share a schedule",
     .rules = fixed_rules<pm_pre_sched_cache>,
     .run = rewrite_for_sched_cache},
    {.name = "multi_pm",
     .alias = "multi",
     .purpose = "turns ops on tensors of several devices into ops on each device's part",
     .rules = fixed_rules<multi_pm>,
     .run = verify_and_rewrite_multi,
     .nested_rule_sets = kSimplify},
    {.name = "number the uops",
     .alias = "number",
     .purpose = "numbers the values that may get a buffer",
     .rules = fixed_rules<add_tags>,
     .bottom_up = true,
     .run = [](TensorJob& job, UOp sink) { return number_uops(sink, job.numbered_nodes); }},
    {.name = "earliest rewrites",
     .alias = "earliest",
     .purpose = "splits large reductions, removes ops that need no kernel",
     .rules = fixed_rules<earliest_rewrites_stage>,
     .run = run_on_sink<rewrite_earliest>,
     .nested_rule_sets =
         kRuleSets<split_reduceop_rules, reshape_index_rules, pad_condition_rules, symbolic, substitute_rules>},
    {.name = "apply rangeify",
     .alias = "rangeify",
     .purpose = "gives each value its loops: movement ops become index expressions",
     .rules = fixed_rules<pm_apply_rangeify>,
     .bottom_up = true,
     .run = [](TensorJob& job, UOp sink) { return run_rangeify(sink, *job.indexing); },
     .nested_rule_sets = kRuleSets<pm_generate_realize_map, reshape_index_rules, pad_condition_rules, symbolic,
                                   substitute_rules, mark_movements>},
    {.name = "symbolic+reduce_collapse+debuf",
     .alias = "debuf",
     .purpose = "simplifies, removes reductions that need no loop, and buffers not worth a store",
     .rules = fixed_rules<remove_bufferize_stage>,
     .nested_rule_sets = kRuleSets<pm_reduce_collapse, gated_substitute, reshape_index_rules, pad_condition_rules,
                                   symbolic, substitute_rules>},
    {.name = "limit buffers",
     .alias = "limit-buffers",
     .purpose = "stores values where a kernel would use more buffers than the device allows",
     .rules = fixed_rules<pm_limit_bufs>,
     .run = [](TensorJob& job, UOp sink) { return limit_buffers(sink, *job.indexing); },
     .nested_rule_sets = kSimplify},
    {.name = "bufferize to store",
     .alias = "bufferize",
     .purpose = "gives each value to store a buffer and a STORE",
     .rules = fixed_rules<bufferize_to_store_stage>,
     .bottom_up = true,
     .run = run_on_sink<bufferize_to_store>,
     .nested_rule_sets = kMovement},
    {.name = "split kernels",
     .alias = "split-kernels",
     .purpose = "makes a kernel of each store",
     .rules = fixed_rules<split_kernels_rules>,
     .run = run_on_sink<split_kernels>,
     .nested_rule_sets = kRuleSets<kernel_split, reshape_index_rules, pad_condition_rules, symbolic, substitute_rules>},
    {.name = "fix_assign",
     .alias = "fix-assign",
     .purpose = "orders a kernel that overwrites a buffer after those that read it",
     .rules = fixed_rules<substitute_rules>,
     .bottom_up = true,
     .run = run_on_sink<fix_assign>},
    {.name = "remove all tags",
     .alias = "untag",
     .purpose = "removes the numbers of the values",
     .rules = fixed_rules<remove_all_tags>,
     .run = remove_tags},
};

constexpr Stage kKernelStages[] = {
    {.name = "early movement ops",
     .alias = "movement",
     .purpose = "turns movement ops into index expressions of the buffers",
     .rules = fixed_rules<early_movement_ops>,
     .bottom_up = true,
     .nested_rule_sets = kMovement},
    {.name = "load collapse",
     .alias = "load-collapse",
     .purpose = "removes sums over a loop that select one loaded element",
     .rules = fixed_rules<pm_load_collapse>,
     .applies = should_optimize,
     .nested_rule_sets = kRuleSets<pm_reduce_load_collapse, symbolic, substitute_rules>},
    {.name = "split ranges",
     .alias = "split",
     .purpose = "splits a loop r that is used as r % c into two",
     .rules = fixed_rules<split_ranges>,
     .applies = should_optimize,
     .run = split_loop_ranges,
     .nested_rule_sets = kSimplify},
    {.name = "initial symbolic",
     .alias = "symbolic",
     .purpose = "simplifies, which merging loops needs",
     .rules = fixed_rules<initial_symbolic>,
     .applies = should_optimize,
     .nested_rule_sets = kSimplify},
    {.name = "simplify ranges",
     .alias = "merge",
     .purpose = "merges adjacent loops if that adds no division or remainder",
     .rules = fixed_rules<pm_simplify_ranges>,
     .applies = should_optimize,
     .nested_rule_sets = kRuleSets<check_merge, symbolic, substitute_rules>},
    {.name = "cut store ranges",
     .alias = "cut",
     .purpose = "CPU: cuts a loop at the constants that it is compared with",
     .rules = fixed_rules<pm_split_store>,
     .applies = should_optimize,
     .nested_rule_sets = kSimplify},
    {.name = "create image buffers",
     .alias = "images",
     .purpose = "turns buffers into images (IMAGE)",
     .rules = fixed_rules<pm_create_image_buffers>,
     .applies = has_image_stages,
     .run = create_image_buffers,
     .nested_rule_sets = kSimplify},
    {.name = "remove unfoldable image stores",
     .alias = "image-stores",
     .purpose = "turns images back into buffers if a store cannot be of four elements",
     .rules = fixed_rules<pm_remove_unfoldable_image_stores>,
     .applies = has_image_stages,
     .run = remove_unfoldable_image_stores,
     .nested_rule_sets = kSimplify},
    {.name = "apply opts",
     .alias = "optimize",
     .purpose = "applies opts: those of the AST, of the heuristic, or of a search",
     .kind = StageKind::Optimizer,
     .applies = should_optimize,
     .run = apply_opts,
     .nested_rule_sets = kRuleSets<pm_flatten_range, swap_remove_tags, symbolic, substitute_rules>},
    {.name = "postopt symbolic",
     .alias = "postopt",
     .purpose = "simplifies; moves conditions of a WHERE to the load",
     .rules = fixed_rules<postopt_symbolic>,
     .nested_rule_sets = kSimplify},
    {.name = "expander",
     .alias = "expand",
     .purpose = "turns UPCAST and UNROLL loops into vectors",
     .rules = fixed_rules<expander_stage>,
     .nested_rule_sets = kSimplify},
    {.name = "add local buffers",
     .alias = "local-buffers",
     .purpose = "gives each value to keep in local memory a buffer and a STORE",
     .rules = fixed_rules<add_local_buffers_rules>,
     .run = run_on_sink<add_local_buffers>,
     .nested_rule_sets = kMovement},
    {.name = "remove_reduce",
     .alias = "reduce",
     .purpose = "replaces each REDUCE by an accumulator",
     .rules = fixed_rules<remove_reduce_stage>,
     .run = run_on_sink<remove_reduce>,
     .nested_rule_sets = kSimplify},
    {.name = "add gpudims",
     .alias = "gpudims",
     .purpose = "replaces parallel loops by indices of workgroups and threads",
     .rules = fixed_rules<pm_add_gpudims>,
     .nested_rule_sets = kSimplify},
    {.name = "** add loads (code)",
     .alias = "loads",
     .purpose = "adds a LOAD where a value of memory is used",
     .rules = fixed_rules<pm_add_loads>},
    {.name = "devectorize",
     .alias = "devec",
     .purpose = "splits vector arithmetic, merges accesses of neighbouring elements",
     .rules = devectorize_stage,
     .nested_rule_sets = kSimplify},
    {.name = "lower all index dtypes",
     .alias = "lower-index",
     .purpose = "gives indices the dtype int, or long if their bounds need it",
     .rules = fixed_rules<lower_index_dtype_stage>,
     .nested_rule_sets = kSimplify},
    {.name = "post index symbolic",
     .alias = "post-index",
     .purpose = "simplifies, now that indices have their dtypes",
     .rules = fixed_rules<symbolic>,
     .nested_rule_sets = kSimplify},
    {.name = "decompositions",
     .alias = "decomp",
     .purpose = "replaces ops that the renderer lacks by others",
     .rules = decompositions_stage,
     .nested_rule_sets = kSimplify},
    {.name = "final rewrite",
     .alias = "final",
     .purpose = "the renderer's own rules; ends each loop by an END of its own",
     .kind = StageKind::FinalRules,
     .rules = final_rewrite_stage,
     .nested_rule_sets = kSimplify},
    {.name = "add control flow",
     .alias = "control-flow",
     .purpose = "orders loops that are not nested",
     .rules = fixed_rules<add_control_flow_rules>,
     .bottom_up = true,
     .run = run_on_sink<add_control_flow>},
};

}  // namespace

template <class Job>
std::string JobStage<Job>::slug() const {
  std::string out;
  for (char c : name) {
    if (std::isalnum(uint8_t(c))) out += char(std::tolower(c));
    else if (!out.empty() && out.back() != '-') out += '-';
  }
  while (!out.empty() && out.back() == '-') out.pop_back();
  return out;
}
template struct JobStage<KernelJob>;
template struct JobStage<TensorJob>;

std::span<const Stage> kernel_stages() { return kKernelStages; }
std::span<const TensorStage> tensor_stages() { return kTensorStages; }

UOp begin_kernel(KernelJob& job, UOp ast) {
  // Most kernels add about kNodesMade nodes for each node beyond the kLeast that every AST has.
  constexpr size_t kNodesMade = 128, kLeast = 10, kMaxReserved = 16384;
  if (size_t size = ast.graph().size(); size > kLeast)
    ast.graph().reserve(std::min(kNodesMade * (size - kLeast), kMaxReserved));
  job.should_run_optimizer = ast.tag().is_none();
  if (!ast.arg().is_none()) return ast;
  Graph& g = ast.graph();
  return ast.with_arg(g.record(RecordClass::KernelInfo, {g.str("test"), g.tuple({}), false, g.tuple({}), Arg()}));
}

namespace {

void verify_input(const Stage& stage, const KernelJob& job, UOp sink) {
  if (&stage != &kernel_stages().front() || job.settings().SPEC < 1) return;
  if (auto violation = verify_graph(sink, Spec::Kernel))
    throw Failure("the AST is not well formed: " + violation->text());
}
void verify_input(const TensorStage&, const TensorJob&, UOp) {}

RewriteOptions rewrite_options_of(const Stage& stage, const KernelJob& job) {
  return {.ctx = job.target, .bottom_up = stage.bottom_up, .name = stage.name};
}
RewriteOptions rewrite_options_of(const TensorStage& stage, const TensorJob&) {
  return {.bottom_up = stage.bottom_up, .name = stage.name};
}

}  // namespace

template <class Job>
Result<UOp> run_stage(const JobStage<Job>& stage, Job& job, UOp sink) {
  auto result = catch_failures([&] {
    verify_input(stage, job, sink);
    UOp out = stage.run ? stage.run(job, sink) : graph_rewrite(sink, *stage.rules(job), rewrite_options_of(stage, job));
    if (job.settings().SPEC < 2) return out;
    if (auto violation = verify_graph(out, Spec::Full))
      throw Failure("leaves a graph that is not well formed: " + violation->text());
    return out;
  });
  // the error of an endless rewrite already begins with the name of the stage, so do not add the name again
  if (const std::string prefix = "stage '" + std::string(stage.name) + "'";
      !result && !result.diag().message.starts_with(prefix))
    result.diag().message = prefix + ": " + result.diag().message;
  return result;
}
template Result<UOp> run_stage(const Stage&, KernelJob&, UOp);
template Result<UOp> run_stage(const TensorStage&, TensorJob&, UOp);

}  // namespace tgc
