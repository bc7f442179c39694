#include "passes/pipeline.h"

#include <algorithm>

#include "lib/spec/spec.h"
#include "passes/kernel/control_flow.h"
#include "passes/kernel/decompositions.h"
#include "passes/kernel/devectorize.h"
#include "passes/kernel/early_movement.h"
#include "passes/kernel/expander.h"
#include "passes/kernel/gpudims.h"
#include "passes/kernel/index_dtype.h"
#include "passes/kernel/loads.h"
#include "passes/kernel/optimizer/apply_opts_stage.h"
#include "passes/kernel/optimizer/images.h"
#include "passes/kernel/ranges.h"
#include "passes/kernel/reduce.h"
#include "passes/kernel/reduce_simplify.h"
#include "passes/symbolic/symbolic.h"
#include "passes/symbolic/valid.h"
#include "passes/tensor/bufferize.h"
#include "passes/tensor/earliest_rewrites.h"
#include "passes/tensor/indexing.h"
#include "passes/tensor/movement_index.h"
#include "passes/tensor/multi.h"
#include "passes/tensor/remove_bufferize.h"
#include "passes/tensor/sched_cache.h"
#include "passes/tensor/split_kernels.h"

namespace tgc {
namespace {

// `rules` of a row whose rule set is the same for every job.
template <const RuleSet& (*set)()>
const RuleSet* always(const KernelJob&) {
  return &set();
}

const RuleSet& postopt_symbolic() {
  static const RuleSet set("postopt symbolic", {&sym(), &pm_move_where_on_load()});
  return set;
}

bool optimizes(const KernelJob& job) { return job.optimize; }

template <const RuleSet& (*set)()>
const RuleSet* for_tensors(const TensorJob&) {
  return &set();
}

// Verifies the original graph, then runs rewrite_multi(). The first stage does not verify, because a cache key may be
// computed for any graph. If the first stage did not run, there is no original graph to verify.
UOp verify_and_rewrite_multi(TensorJob& job, UOp sink) {
  if (auto violation = job.given ? verify_graph(job.given, Spec::Tensor) : std::nullopt)
    throw Failure("not a well-formed tensor graph: " + violation->text());
  return rewrite_multi(job, sink);
}

// The rule sets of the nested rewrites of a stage.
template <const RuleSet& (*... sets)()>
constexpr RuleSetFunction kInside[] = {sets...};
constexpr std::span<const RuleSetFunction> kSimplify = kInside<symbolic, substitute_rules>;
constexpr std::span<const RuleSetFunction> kMovement = kInside<reshape_rules, pad_rules, symbolic, substitute_rules>;

// The stages of a tensor graph, in order.
constexpr TensorStage kTensorStages[] = {
    {"rewrite for sched cache", "sched-cache", Level::Tensor, for_tensors<pm_pre_sched_cache>, false, nullptr,
     rewrite_for_sched_cache},
    {"multi_pm", "multi", Level::Tensor, for_tensors<multi_pm>, false, nullptr, verify_and_rewrite_multi, kSimplify},
    {"number the uops", "number", Level::Tensor, for_tensors<add_tags>, true, nullptr,
     [](TensorJob& job, UOp sink) { return number_uops(sink, job.numbered); }},
    {"earliest rewrites", "earliest", Level::Tensor, for_tensors<earliest_rewrites_stage>, false, nullptr,
     [](TensorJob&, UOp sink) { return rewrite_earliest(sink); },
     kInside<split_reduceop_rules, reshape_rules, pad_rules, symbolic, substitute_rules>},
    {"apply rangeify", "rangeify", Level::Tensor, for_tensors<pm_apply_rangeify>, true, nullptr,
     [](TensorJob& job, UOp sink) { return run_rangeify(sink, *job.indexing); },
     kInside<pm_generate_realize_map, reshape_rules, pad_rules, symbolic, substitute_rules, mark_movements>},
    {"symbolic+reduce_collapse+debuf", "debuf", Level::Tensor, for_tensors<remove_bufferize_stage>, false, nullptr,
     nullptr,
     kInside<pm_reduce_collapse, gated_substitute, reshape_rules, pad_rules, symbolic, substitute_rules>},
    {"limit buffers", "limit-buffers", Level::Tensor, for_tensors<pm_limit_bufs>, false, nullptr,
     [](TensorJob& job, UOp sink) { return limit_buffers(sink, *job.indexing); }, kSimplify},
    {"bufferize to store", "bufferize", Level::Tensor, for_tensors<bufferize_to_store_stage>, true, nullptr,
     [](TensorJob&, UOp sink) { return bufferize_to_store(sink); }, kMovement},
    {"split kernels", "split-kernels", Level::Tensor, for_tensors<split_kernels_rules>, false, nullptr,
     [](TensorJob&, UOp sink) { return split_kernels(sink); },
     kInside<kernel_split, reshape_rules, pad_rules, symbolic, substitute_rules>},
    {"fix_assign", "fix-assign", Level::Tensor, for_tensors<substitute_rules>, true, nullptr,
     [](TensorJob&, UOp sink) { return fix_assign(sink); }},
    {"remove all tags", "untag", Level::Tensor, for_tensors<remove_all_tags>, false, nullptr,
     [](TensorJob& job, UOp sink) {
       for (UOp s : sink.src()) job.sink_tags.push_back(s.tag());
       return graph_rewrite(sink, remove_all_tags(), {.name = "remove all tags"});
     }},
};

// The stages of a kernel, in order.
constexpr Stage kKernelStages[] = {
    {"early movement ops", "movement", Level::Kernel, always<early_movement_ops>, true, nullptr, nullptr, kMovement},
    {"load collapse", "load-collapse", Level::Kernel, always<pm_load_collapse>, false, optimizes, nullptr,
     kInside<pm_reduce_load_collapse, symbolic, substitute_rules>},
    {"split ranges", "split", Level::Kernel, always<split_ranges>, false, optimizes,
     [](KernelJob&, UOp sink) {
       SplitRangesContext ctx;
       return graph_rewrite(sink, split_ranges(), {.ctx = ctx, .name = "split ranges"});
     }, kSimplify},
    {"initial symbolic", "symbolic", Level::Kernel, always<initial_symbolic>, false, optimizes, nullptr, kSimplify},
    {"simplify ranges", "merge", Level::Kernel, always<pm_simplify_ranges>, false, optimizes, nullptr,
     kInside<check_merge, symbolic, substitute_rules>},
    {"cut store ranges", "cut", Level::Kernel, always<pm_split_store>, false, optimizes, nullptr, kSimplify},

    {"create image buffers", "images", Level::Kernel, always<pm_create_image_buffers>, false, makes_images,
     create_image_buffers, kSimplify},

    {"remove unfoldable image stores", "image-stores", Level::Kernel, always<pm_remove_unfoldable_image_stores>, false,
     makes_images, remove_unfoldable_image_stores, kSimplify},

    {"apply opts", "optimize", Level::Kernel, nullptr, false, optimizes, apply_opts,
     kInside<pm_flatten_range, swap_remove_tags, symbolic, substitute_rules>},

    {"postopt symbolic", "postopt", Level::Kernel, always<postopt_symbolic>, false, nullptr, nullptr, kSimplify},

    {"expander", "expand", Level::Kernel, always<expander_stage>, false, nullptr, nullptr, kSimplify},

    {"add local buffers", "local-buffers", Level::Kernel, always<add_local_buffers_rules>, false, nullptr,
     [](KernelJob&, UOp sink) { return add_local_buffers(sink); }, kMovement},

    {"remove_reduce", "reduce", Level::Kernel, always<remove_reduce_stage>, false, nullptr,
     [](KernelJob&, UOp sink) { return remove_reduce(sink); }, kSimplify},

    {"add gpudims", "gpudims", Level::Kernel, always<pm_add_gpudims>, false, nullptr, nullptr, kSimplify},

    {"** add loads (code)", "loads", Level::Kernel, always<pm_add_loads>, false, nullptr, nullptr},

    {"devectorize", "devec", Level::Kernel, devectorize_stage, false, nullptr, nullptr, kSimplify},

    {"lower all index dtypes", "lower-index", Level::Kernel, always<lower_index_dtype_stage>, false, nullptr, nullptr,
     kSimplify},

    {"post index symbolic", "post-index", Level::Kernel, always<symbolic>, false, nullptr, nullptr, kSimplify},

    {"decompositions", "decomp", Level::Kernel, decompositions_stage, false, nullptr, nullptr, kSimplify},

    {"final rewrite", "final", Level::Kernel, final_rewrite_stage, false, nullptr, nullptr, kSimplify},

    {"add control flow", "control-flow", Level::Kernel, always<add_control_flow_rules>, true, nullptr,
     [](KernelJob&, UOp sink) { return add_control_flow(sink); }},
};

bool same_word(std::string_view a, std::string_view b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return std::tolower(x) == std::tolower(y); });
}

}  // namespace

template <class Job>
std::string StageOf<Job>::slug() const {
  std::string out;
  for (char c : name) {
    if (std::isalnum(uint8_t(c))) out += char(std::tolower(c));
    else if (!out.empty() && out.back() != '-') out += '-';
  }
  while (!out.empty() && out.back() == '-') out.pop_back();
  return out;
}
template struct StageOf<KernelJob>;
template struct StageOf<TensorJob>;

std::span<const Stage> kernel_stages() { return kKernelStages; }
std::span<const TensorStage> tensor_stages() { return kTensorStages; }

namespace {
template <class Job>
const StageOf<Job>* find_in(std::span<const StageOf<Job>> stages, std::string_view text) {
  for (const auto& s : stages)
    if (same_word(text, s.name) || same_word(text, s.alias) || same_word(text, s.slug())) return &s;
  return nullptr;
}
}  // namespace

const Stage* find_stage(std::string_view text) { return find_in(kernel_stages(), text); }
const TensorStage* find_tensor_stage(std::string_view text) { return find_in(tensor_stages(), text); }

UOp begin_kernel(KernelJob& job, UOp ast) {
  // reserve as many nodes as most kernels create per AST node, up to a limit; larger kernels grow on demand
  constexpr size_t kNodesMade = 128, kLeast = 10, kMost = 16384;
  if (size_t size = ast.graph().size(); size > kLeast)
    ast.graph().reserve(std::min(kNodesMade * (size - kLeast), kMost));
  job.optimize = ast.tag().is_none();
  if (!ast.arg().is_none()) return ast;
  Graph& g = ast.graph();
  return ast.with_arg(g.record(RecordClass::KernelInfo, {g.str("test"), g.tuple({}), false, g.tuple({}), Arg()}));
}

namespace {
// Throws Failure unless `sink` is a well-formed kernel AST.
void verify_ast(UOp sink) {
  if (auto violation = verify_graph(sink, Spec::Kernel))
    throw Failure("the AST is not well formed: " + violation->text());
}

// Runs the stage; with SPEC=2, verifies every node of the result.
template <class Job>
UOp run_verified(const StageOf<Job>& stage, Job& job, UOp sink, const Settings& settings, RewriteOptions options) {
  UOp out = stage.run ? stage.run(job, sink) : graph_rewrite(sink, *stage.rules(job), options);
  if (settings.SPEC < 2) return out;
  if (auto violation = verify_graph(out, Spec::Full))
    throw Failure("leaves a graph that is not well formed: " + violation->text());
  return out;
}
// Prefixes the message with "stage 'expander': ", unless it already has that prefix, as from a rewrite without end.
void name_stage(Diag& diag, std::string_view name) {
  std::string stage = "stage '" + std::string(name) + "'";
  if (!diag.message.starts_with(stage)) diag.message = stage + ": " + diag.message;
}

}  // namespace

Result<UOp> run_stage(const Stage& stage, KernelJob& job, UOp sink) {
  auto result = catch_failures([&] {
    if (&stage == &kernel_stages().front() && job.settings().SPEC >= 1) verify_ast(sink);
    return run_verified(stage, job, sink, job.settings(),
                        {.ctx = job.target, .bottom_up = stage.bottom_up, .name = stage.name});
  });
  if (!result) name_stage(result.diag(), stage.name);
  return result;
}

Result<UOp> run_stage(const TensorStage& stage, TensorJob& job, UOp sink) {
  auto result = catch_failures([&] {
    return run_verified(stage, job, sink, job.settings(), {.bottom_up = stage.bottom_up, .name = stage.name});
  });
  if (!result) name_stage(result.diag(), stage.name);
  return result;
}

Result<UOp> run_tensor_stages(TensorJob& job, UOp sink, const std::function<void(const TensorStage&, UOp)>& seen) {
  for (const TensorStage& stage : tensor_stages()) {
    auto result = run_stage(stage, job, sink);
    if (!result) return result;
    sink = *result;
    if (seen) seen(stage, sink);
  }
  return sink;
}

Result<Schedule> make_schedule(TensorJob& job, UOp sink) {
  auto kernels = run_tensor_stages(job, sink);
  if (!kernels) return kernels.diag();
  return catch_failures([&] { return create_schedule(job, *kernels); });
}

Result<UOp> run_kernel_stages(KernelJob& job, UOp ast, const Stage* first,
                              const std::function<void(const Stage&, UOp)>& seen) {
  bool running = first == nullptr;
  for (const Stage& stage : kernel_stages()) {
    running |= &stage == first;
    if (!running || (stage.applies && !stage.applies(job))) continue;
    auto result = run_stage(stage, job, ast);
    if (!result) return result;
    ast = *result;
    if (seen) seen(stage, ast);
  }
  return ast;
}

}  // namespace tgc
