#include "passes/pipeline.h"

#include <algorithm>

#include "passes/kernel/control_flow.h"
#include "passes/kernel/decompositions.h"
#include "passes/kernel/devectorize.h"
#include "passes/kernel/early_movement.h"
#include "passes/kernel/expander.h"
#include "passes/kernel/gpudims.h"
#include "passes/kernel/index_dtype.h"
#include "passes/kernel/loads.h"
#include "passes/kernel/optimizer/apply_opts.h"
#include "passes/kernel/optimizer/images.h"
#include "passes/kernel/ranges.h"
#include "passes/kernel/reduce.h"
#include "passes/kernel/reduce_simplify.h"
#include "passes/symbolic/symbolic.h"
#include "passes/symbolic/valid.h"
#include "passes/tensor/bufferize.h"

namespace tgc {
namespace {

// For a row whose rules are the same for every job.
template <const RuleSet& (*set)()>
const RuleSet* always(const KernelJob&) {
  return &set();
}

const RuleSet& postopt_symbolic() {
  static const RuleSet set("postopt symbolic", {&sym(), &pm_move_where_on_load()});
  return set;
}

bool optimizes(const KernelJob& job) { return job.optimize; }

// The stages of a kernel, in order.
constexpr Stage kKernelStages[] = {
    {"early movement ops", "movement", Level::Kernel, always<early_movement_ops>, true, nullptr, nullptr},
    {"load collapse", "load-collapse", Level::Kernel, always<pm_load_collapse>, false, optimizes, nullptr},
    {"split ranges", "split", Level::Kernel, always<split_ranges>, false, optimizes,
     [](KernelJob&, UOp sink) {
       SplitRangesContext ctx;
       return graph_rewrite(sink, split_ranges(), {.ctx = ctx, .name = "split ranges"});
     }},
    {"initial symbolic", "symbolic", Level::Kernel, always<initial_symbolic>, false, optimizes, nullptr},
    {"simplify ranges", "merge", Level::Kernel, always<pm_simplify_ranges>, false, optimizes, nullptr},
    {"cut store ranges", "cut", Level::Kernel, always<pm_split_store>, false, optimizes, nullptr},

    {"create image buffers", "images", Level::Kernel, always<pm_create_image_buffers>, false, makes_images, create_image_buffers},

    {"remove unfoldable image stores", "image-stores", Level::Kernel, always<pm_remove_unfoldable_image_stores>, false, makes_images,
     remove_unfoldable_image_stores},

    {"apply opts", "optimize", Level::Kernel, nullptr, false, optimizes, apply_opts},

    {"postopt symbolic", "postopt", Level::Kernel, always<postopt_symbolic>, false, nullptr, nullptr},

    {"expander", "expand", Level::Kernel, always<expander_stage>, false, nullptr, nullptr},

    {"add local buffers", "local-buffers", Level::Kernel, always<add_local_buffers_rules>, false, nullptr,
     [](KernelJob&, UOp sink) { return add_local_buffers(sink); }},

    {"remove_reduce", "reduce", Level::Kernel, always<remove_reduce_stage>, false, nullptr,
     [](KernelJob&, UOp sink) { return remove_reduce(sink); }},

    {"add gpudims", "gpudims", Level::Kernel, always<pm_add_gpudims>, false, nullptr, nullptr},

    {"** add loads (code)", "loads", Level::Kernel, always<pm_add_loads>, false, nullptr, nullptr},

    {"devectorize", "devec", Level::Kernel, devectorize_stage, false, nullptr, nullptr},

    {"lower all index dtypes", "lower-index", Level::Kernel, always<lower_index_dtype_stage>, false, nullptr, nullptr},

    {"post index symbolic", "post-index", Level::Kernel, always<symbolic>, false, nullptr, nullptr},

    {"decompositions", "decomp", Level::Kernel, decompositions_stage, false, nullptr, nullptr},

    {"final rewrite", "final", Level::Kernel, final_rewrite_stage, false, nullptr, nullptr},

    {"add control flow", "control-flow", Level::Kernel, always<add_control_flow_rules>, true, nullptr,
     [](KernelJob&, UOp sink) { return add_control_flow(sink); }},
};

bool same_word(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return std::tolower(x) == std::tolower(y); });
}

}  // namespace

std::string Stage::slug() const {
  std::string out;
  for (char c : name) {
    if (std::isalnum(uint8_t(c))) out += char(std::tolower(c));
    else if (!out.empty() && out.back() != '-') out += '-';
  }
  while (!out.empty() && out.back() == '-') out.pop_back();
  return out;
}

std::span<const Stage> kernel_stages() { return kKernelStages; }

const Stage* find_stage(std::string_view text) {
  for (const Stage& s : kernel_stages())
    if (same_word(text, s.name) || same_word(text, s.alias) || same_word(text, s.slug())) return &s;
  return nullptr;
}

UOp begin_kernel(KernelJob& job, UOp ast) {
  job.optimize = ast.tag().is_none();
  if (!ast.arg().is_none()) return ast;
  Graph& g = ast.graph();
  return ast.with_arg(g.record(RecordClass::KernelInfo, {g.str("test"), g.tuple({}), false, g.tuple({}), Arg()}));
}

Result<UOp> run_stage(const Stage& stage, KernelJob& job, UOp sink) {
  auto result = catch_failures([&] {
    if (stage.run) return stage.run(job, sink);
    return graph_rewrite(sink, *stage.rules(job), {.ctx = job.target, .bottom_up = stage.bottom_up, .name = stage.name});
  });
  if (!result) result.diag().message = "stage '" + std::string(stage.name) + "': " + result.diag().message;
  return result;
}

Result<UOp> run_kernel_stages(KernelJob& job, UOp ast, const Stage* first, const std::function<void(const Stage&, UOp)>& seen) {
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
