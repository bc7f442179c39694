#include "lib/bisect/backend_bisect.h"

#include <algorithm>
#include <unordered_set>

#include "lib/bisect/first_wrong_node.h"
#include "lib/bisect/rewrite_bisect.h"
#include "lib/bisect/scalarize.h"
#include "lib/compile/compile.h"
#include "lib/runtime/compile_source.h"
#include "lib/runtime/ref/ref.h"
#include "lib/support/lines.h"
#include "lib/uop/graph.h"
#include "passes/program.h"
#include "renderers/renderer.h"

namespace tgc {
namespace {

using Verdict = BisectReport::Verdict;

// The other renderer of this computer's CPU; empty: the target is another device's.
std::string other_renderer(const Target& target) {
  if (target.device != "CPU") return "";
  return target.renderer == RendererKind::Clang ? "CPU:LLVM" : "CPU:CLANG";
}

// Whether the kernel passes as it is made for another target.
bool passes_on(FailureRepro& run, const std::string& target) {
  auto attempt = catch_failures([&] {
    Compilation c = run.begin(target);
    auto& list = c.list();
    if (!list) return false;
    Placement other = std::move(choose_placement("", target, run.in().graph->settings()).value_or_throw());
    Executable kernel = std::move(Executable::for_device(*list, *other.target, *other.device).value_or_throw());
    return run.run(kernel, *other.device).passes();
  });
  return attempt && *attempt;
}

// Whether the other of this computer's compilers compiles a source that one of them refuses.
bool other_compiler_takes(const Target& target, const std::string& source) {
  if (target.device != "CPU") return false;
  auto job = job_for({"refused", "", target.name(), source});
  if (job) job->by_other = true;
  return job && compile_uncached(*job, Artifact::Binary);
}

class Below {
 public:
  Below(FailureRepro& run, std::span<const UOp> list, BisectReport& report)
      : run_(run), list_(list), report_(report), kernel_(std::move(run.executable(list).value_or_throw())) {}

  void blame(const Outcome& failed) {
    dies_ = failed.kind == Outcome::Kind::Dies;
    std::string notes;
    if (run_.is_small() && !run_.is_right_in_ref(list_, notes))
      return say(Verdict::Unresolved, "the linear list is wrong in REF, every stage before it right");
    if (dies_ && notes.find(RefNotes::kNegativeSize) != notes.npos)
      return say(Verdict::Unresolved, "REF notes " + notes + ": devices may differ");
    const Target& target = *run_.place().target;
    if (target.device != "CPU" || run_.place().is_ref)
      return say(Verdict::Device, "its linear list is right in REF: the renderer, the compiler or the device of " +
                                      target.name());
    if (dies_ && name_moved_vector(is_loose))
      return say(Verdict::Renderer, "element by element it is right: compilers expect a vector at a multiple of its "
                                    "size, and in C one of three has the room of four");
    job_ = std::move(job_for(kernel_.source()).value_or_throw());
    job_.passes = kAll;
    bool by_passes = fails();
    job_.passes = 0;
    if (by_passes && !fails()) return name_pass();
    job_.passes = -1, job_.by_other = true;
    if (!fails()) {
      report_.confirmed = true;
      return say(Verdict::Compiler, by_passes
                                        ? "the source is wrong without LLVM's optional passes, too, and right when "
                                          "the other compiler (clang's LLVM, or LLVM behind clang) compiles it"
                                        : "the source is right when clang and LLVM compile it in two steps");
    }
    std::string other = other_renderer(target);
    bool other_passes = passes_on(run_, other);
    if (!other_passes && name_moved_vector())
      return say(Verdict::Renderer, "element by element it is right; the kernel of " + other + " fails, too");
    if (!other_passes)
      return say(dies_              ? Verdict::Crash
                 : run_.is_small()                  ? Verdict::Device
                                                    : Verdict::Unresolved,
                 "the kernel of " + other + " does the same: what both share, or REF");
    report_.confirmed = true;
    say(Verdict::Renderer, "the source is wrong however it is compiled, that of " + other + " is right");
    if (UOp node = first_wrong_node(run_, list_)) return name_node(node);
    report_.proof = "by the kernel of " + other + "; no node is known to be printed wrongly";
  }

 private:
  static constexpr int64_t kAll = INT64_MAX;  // of passes; C goes the way by LLVM IR

  void say(Verdict verdict, const std::string& detail) { report_.verdict = verdict, report_.detail = detail; }

  // ---- the compiler

  // Whether the kernel fails, compiled as the job says.
  bool fails() {
    auto code = compile_uncached(job_, Artifact::Binary);
    if (!code) return true;
    kernel_.set_code(std::move(*code));
    return !run_.run(kernel_, *run_.place().device).passes();
  }

  // The first pass with which it fails: without it, and those after it, it passes.
  void name_pass() {
    job_.passes = kAll;
    std::string text = std::move(compile_uncached(job_, Artifact::Passes).value_or_throw());
    std::vector<std::string_view> passes = lines_of(text);
    size_t right = 0, wrong = passes.size();
    while (wrong - right > 1) {
      size_t middle = (right + wrong) / 2;
      job_.passes = int64_t(middle);
      (fails() ? wrong : right) = middle;
    }
    std::string_view line = passes.at(wrong - 1);
    report_.pass = line.substr(0, line.find('\t'));
    report_.pass_number = wrong;
    report_.function = line.substr(std::min(line.size(), line.find('\t') + 1));
    report_.confirmed = true;
    say(Verdict::Compiler, "with the first " + std::to_string(wrong) + " of LLVM's " + std::to_string(passes.size()) +
                               " optional passes it fails, with " + std::to_string(right) + " it passes");
  }

  // ---- the renderer

  // Whether it passes when vectors are stored, loaded, or both element by element: names the first that is such.
  bool name_moved_vector(bool (*is_such)(UOp) = moves_vector) {
    std::vector<UOp> tried;
    for (OpSet ops : {OpSet{Op::STORE}, OpSet{Op::LOAD}, OpSet{Op::STORE, Op::LOAD}}) {
      auto first = std::ranges::find_if(list_, [&](UOp u) { return u.in(ops) && moves_vector(u) && is_such(u); });
      if (first == list_.end()) continue;
      std::vector<UOp> list = scalarize(list_, ops);
      if (list == tried) continue;  // there are none of the other
      tried = list;
      auto kernel = run_.executable(list);
      if (!kernel || !run_.run(*kernel, *run_.place().device).passes()) continue;
      report_.confirmed = true;
      name_node(*first);
      return true;
    }
    return false;
  }

  // Names that node, with the lines that print it.
  void name_node(UOp node) {
    report_.before = tree_text(node, 1);
    auto map = source_map(*run_.place().target, list_);
    SourceLines where = map ? lines_with(*map, node) : SourceLines();
    for (size_t k = 0; k < where.count; k++) report_.after += map->lines[where.first - 1 + k] + "\n";
    if (where.count) report_.location = "line " + std::to_string(where.first) + " of the source";
  }

  // A node's own lines, or the first that have it in them.
  SourceLines lines_with(const SourceMap& map, UOp node) const {
    std::unordered_set<UOp> within = {node};
    for (size_t i = 0; i < list_.size(); i++) {
      bool has_it = list_[i] == node || std::ranges::any_of(list_[i].src(), [&](UOp s) { return within.contains(s); });
      if (has_it && map.of_node[i].count) return map.of_node[i];
      if (has_it) within.insert(list_[i]);
    }
    return {};
  }

  FailureRepro& run_;
  std::span<const UOp> list_;
  BisectReport& report_;
  Executable kernel_;
  CompileJob job_;
  bool dies_ = false;
};

}  // namespace

void blame_below(FailureRepro& run, std::span<const UOp> list, const Outcome& failed, BisectReport& report) {
  Below(run, list, report).blame(failed);
}

void blame_refusal(FailureRepro& run, std::span<const UOp> list, const Outcome& refused, BisectReport& report) {
  report.detail = refused.error();
  if (list.empty()) return void(report.verdict = Verdict::Unresolved);
  if (run.place().is_ref) return void(report.verdict = Verdict::Device);
  check_custom(list).value_or_throw();
  const Target& target = *run.place().target;
  const std::string& said = refused.diag.message;
  const bool compiler_fails = said.starts_with("the compiler of ");  // dies, or does not end
  const bool is_no_source = said.find(" source does not compile: ") != said.npos;
  auto source = render_source(target, list);
  if (auto facts = program_info(list); !facts) source = facts.diag();  // tinygrad's renderer asks for them, too
  if (source && !compiler_fails && !is_no_source) throw Failure(refused.diag);  // there is no compiler here
  const bool is_right = source && (compiler_fails || other_compiler_takes(target, *source));
  report.verdict = is_right ? Verdict::Compiler : Verdict::Renderer;
  std::string other = other_renderer(target);
  report.confirmed = !other.empty() && passes_on(run, other);
  if (report.confirmed) report.proof = "the kernel of " + other + " passes";
}

}  // namespace tgc
