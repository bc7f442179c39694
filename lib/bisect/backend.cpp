#include <algorithm>
#include <unordered_set>

#include "lib/bisect/list_variants.h"
#include "lib/bisect/rewrite_sides.h"
#include "lib/bisect/strategies.h"
#include "lib/compile/compile.h"
#include "lib/runtime/compile_source.h"
#include "lib/runtime/ref/ref.h"
#include "lib/support/first_wrong.h"
#include "lib/support/lines.h"
#include "lib/uop/graph.h"
#include "passes/program.h"
#include "renderers/renderer.h"

namespace tgc {
namespace {

using Kind = Verdict::Kind;

// Returns the target of this computer's CPU with the other renderer; "" if `target` is no CPU target.
std::string other_renderer_target(const Target& target) {
  if (target.device != "CPU") return "";
  return target.renderer == RendererKind::Clang ? "CPU:LLVM" : "CPU:CLANG";
}

bool other_compiler_accepts(const Target& target, const std::string& source) {
  if (target.device != "CPU") return false;
  auto job = compile_job_for({"refused", "", target.name(), source});
  if (job) job->uses_other_compiler = true;
  return job && compile_without_cache(*job, Artifact::Binary);
}

class BackendBisection {
 public:
  BackendBisection(const FailureRepro& repro, BisectExecutor& executor)
      : repro_(repro),
        executor_(executor),
        list_(executor.observed_run().linear_list),
        target_(*repro.placement.target),
        kernel_(std::move(executor.make_executable(list_).value_or_throw())) {}

  Verdict find_culprit() {
    const bool dies = executor_.observed_run().outcome.kind == KernelOutcome::Kind::Dies;
    std::string notes;
    if (repro_.is_small && Executable::make_for_ref(list_)) {
      auto in_ref = executor_.run_in_ref(list_);
      if (in_ref) notes = in_ref->notes;
      if (!executor_.compare_execution(in_ref).passes())
        return make_verdict(Kind::Unresolved,
                            "the linear list is wrong in REF, but the graph is right after every stage");
    }
    if (dies && notes.find(UndefinedOpCounts::kNegativeSizeText) != notes.npos)
      return make_verdict(Kind::Unresolved, "REF notes " + notes + ": devices may differ");
    // A device whose target is CPU can be a plugin (lib/runtime), so check that the kernel runs on the CPU itself.
    if (target_.device != "CPU" || !repro_.placement.label.starts_with("CPU")) {
      const UOp node = repro_.placement.is_ref
                           ? UOp()
                           : first_wrong_node(executor_, list_, target_.renderer == RendererKind::WGSL);
      if (!node)
        return make_verdict(Kind::Device,
                            "the linear list is right in REF: the renderer, the compiler or the device of " +
                                target_.name() + " is wrong");
      blame_node(node);
      verdict_.proof = "the results are right if the users of this node read its right value, but the compiler of " +
                   target_.name() + " or the device may be wrong in place of the renderer";
      return make_verdict(Kind::Renderer, "the linear list is right in REF");
    }
    if (dies && find_vector_access(is_misaligned_vector))
      return make_verdict(Kind::Renderer,
                          "it passes if vectors are accessed element by element: compilers assume that a "
                          "vector is aligned to its size, and that one of three has the size of four in C");
    compile_job_ = std::move(compile_job_for(kernel_.source()).value_or_throw());
    compile_job_.max_passes = kAllPasses;
    const bool fails_with_passes = kernel_fails();
    compile_job_.max_passes = 0;
    if (fails_with_passes && !kernel_fails()) return find_wrong_pass();
    compile_job_.max_passes = -1, compile_job_.uses_other_compiler = true;
    if (!kernel_fails()) {
      verdict_.is_confirmed = true;
      return make_verdict(Kind::Compiler, fails_with_passes
                                         ? "the source is wrong even without LLVM's optional passes, and right if "
                                           "the other compiler (clang's LLVM, or LLVM after clang) compiles it"
                                         : "the source is right if clang and LLVM compile it in two steps");
    }
    const std::string other = other_renderer_target(target_);
    if (!executor_.passes_on_target(other)) {
      if (find_vector_access())
        return make_verdict(Kind::Renderer, "it passes if vectors are accessed element by element; the kernel of " +
                                                other + " fails, too");
      return make_verdict(dies ? Kind::Crash : repro_.is_small ? Kind::Device : Kind::Unresolved,
                          "the kernel of " + other + " does the same: something that both share is wrong, or REF");
    }
    verdict_.is_confirmed = true;
    if (UOp node = first_wrong_node(executor_, list_)) blame_node(node);
    else verdict_.proof = "the kernel of " + other + " passes; no misprinted node was found";
    return make_verdict(Kind::Renderer, "the source is wrong with every compiler, that of " + other + " is right");
  }

 private:
  // A value of compile_job_.max_passes that runs all passes, but compiles in the same way as smaller values: C by way
  // of LLVM IR.
  static constexpr int64_t kAllPasses = INT64_MAX;

  Verdict make_verdict(Kind kind, const std::string& detail) {
    verdict_.kind = kind, verdict_.detail = detail;
    return std::move(verdict_);
  }

  // A kernel that does not compile fails, too.
  bool kernel_fails() {
    auto code = compile_without_cache(compile_job_, Artifact::Binary);
    if (!code) return true;
    kernel_.set_code(std::move(*code));
    return !executor_.run_kernel(kernel_, *repro_.placement.device).passes();
  }

  Verdict find_wrong_pass() {
    compile_job_.max_passes = kAllPasses;
    const std::string text = std::move(compile_without_cache(compile_job_, Artifact::Passes).value_or_throw());
    const std::vector<std::string_view> passes = lines_of(text);
    const size_t wrong = *find_first_wrong(
        0, passes.size(), [&](size_t n) { return compile_job_.max_passes = int64_t(n), kernel_fails(); });
    std::string_view line = passes.at(wrong - 1);
    verdict_.pass_name = line.substr(0, line.find('\t'));
    verdict_.pass_number = wrong;
    verdict_.function = line.substr(std::min(line.size(), line.find('\t') + 1));
    verdict_.is_confirmed = true;
    return make_verdict(Kind::Compiler, "with the first " + std::to_string(wrong) + " of LLVM's " +
                                       std::to_string(passes.size()) + " optional passes it fails, with " +
                                       std::to_string(wrong - 1) + " it passes");
  }

  // Splits vector stores, vector loads, or both into accesses of single elements. If the kernel then passes, names the
  // first split access for which is_culprit() is true, and returns true.
  bool find_vector_access(bool (*is_culprit)(UOp) = is_vector_access) {
    std::vector<UOp> tried;
    for (OpSet ops : {OpSet{Op::STORE}, OpSet{Op::LOAD}, OpSet{Op::STORE, Op::LOAD}}) {
      auto is_wanted = [&](UOp u) { return u.in(ops) && is_vector_access(u) && is_culprit(u); };
      auto first = std::ranges::find_if(list_, is_wanted);
      if (first == list_.end()) continue;
      std::vector<UOp> list = scalarize_list(list_, ops);
      if (list == tried) continue;  // the kernel has only loads or only stores
      tried = list;
      auto kernel = executor_.make_executable(list);
      if (!kernel || !executor_.run_kernel(*kernel, *repro_.placement.device).passes()) continue;
      verdict_.is_confirmed = true;
      blame_node(*first);
      return true;
    }
    return false;
  }

  void blame_node(UOp node) {
    verdict_.before = tree_text(node, 1);
    auto map = make_source_map(target_, list_);
    SourceLineRange where = map ? source_lines_of_node(*map, node) : SourceLineRange();
    for (size_t k = 0; k < where.num_lines; k++) verdict_.after += map->source_lines[where.first_line - 1 + k] + "\n";
    if (where.num_lines) verdict_.location = "line " + std::to_string(where.first_line) + " of the source";
  }

  // Returns the source lines of `node` or, if it has none, of the first direct or indirect user that has lines.
  SourceLineRange source_lines_of_node(const SourceMap& map, UOp node) const {
    std::unordered_set<UOp> within = {node};
    for (size_t i = 0; i < list_.size(); i++) {
      bool has_it = list_[i] == node || std::ranges::any_of(list_[i].src(), [&](UOp s) { return within.contains(s); });
      if (has_it && map.lines_of_node[i].num_lines) return map.lines_of_node[i];
      if (has_it) within.insert(list_[i]);
    }
    return {};
  }

  const FailureRepro& repro_;
  BisectExecutor& executor_;
  std::span<const UOp> list_;
  const Target& target_;
  Executable kernel_;
  CompileJob compile_job_;
  Verdict verdict_;
};

}  // namespace

std::optional<Verdict> bisect_backend(const FailureRepro& repro, BisectExecutor& executor) {
  if (first_wrong_stage(repro, executor)) return std::nullopt;
  return BackendBisection(repro, executor).find_culprit();
}

std::optional<Verdict> find_refusal(const FailureRepro& repro, BisectExecutor& executor) {
  const ObservedRun& watched = executor.observed_run();
  if (!watched.outcome.is_refused()) return std::nullopt;
  Verdict out{Kind::Unresolved, watched.outcome.error()};
  if (const StageRun* stage = first_wrong_stage(repro, executor)) out.stage = stage->row->name;
  if (watched.linear_list.empty()) return out;
  out.kind = Kind::Device;
  if (repro.placement.is_ref) return out;
  check_custom_nodes(watched.linear_list).value_or_throw();
  const Target& target = *repro.placement.target;
  const std::string& message = watched.outcome.diag.message;
  const bool compiler_fails = message.starts_with("the compiler of ");
  const bool is_invalid = is_invalid_source(watched.outcome.diag);
  auto source = render_source(target, watched.linear_list);
  // a kernel without launch facts counts as not rendered, because tinygrad's renderer fails for it as well
  if (auto facts = make_program_info(watched.linear_list); !facts) source = facts.diag();
  // the error is not about the kernel: for example, the compiler is not installed
  if (source && !compiler_fails && !is_invalid) throw Failure(watched.outcome.diag);
  const bool is_valid = source && (compiler_fails || other_compiler_accepts(target, *source));
  out.kind = is_valid ? Kind::Compiler : Kind::Renderer;
  const std::string other = other_renderer_target(target);
  out.is_confirmed = !other.empty() && executor.passes_on_target(other);
  if (out.is_confirmed) out.proof = "the kernel of " + other + " passes";
  return out;
}

}  // namespace tgc
