#include "lib/session/blame/below.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "lib/compile/compile.h"
#include "lib/runtime/compile_source.h"
#include "lib/session/blame/by_elements.h"
#include "lib/session/blame/rewrites.h"
#include "lib/support/lines.h"
#include "lib/uop/graph.h"
#include "renderers/renderer.h"

namespace tgc {
namespace {

using Verdict = BisectReport::Verdict;

class Below {
 public:
  Below(FailingRun& run, std::span<const UOp> list, BisectReport& report)
      : run_(run), list_(list), report_(report), kernel_(std::move(run.executable(list).value_or_throw())) {}

  void blame(const Outcome& failed) {
    dies_ = failed.kind == Outcome::Kind::Dies;
    if (is_wrong_in_ref())
      return say(Verdict::Unresolved, "the linear list is wrong in REF, every stage before it right");
    const Target& target = *run_.place().target;
    if (target.device != "CPU" || run_.place().is_ref)
      return say(Verdict::Device, "its linear list is right in REF: the renderer, the compiler or the device of " +
                                      target.name());
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
    std::string other = job_.language == Language::C ? "CPU:LLVM" : "CPU:CLANG";
    bool other_passes = passes_on(other);
    if (!other_passes && name_moved_vector())
      return say(Verdict::Renderer, "element by element it is right; the kernel of " + other + " fails, too");
    if (!other_passes)
      return say(dies_              ? Verdict::Crash
                 : run_.is_small()                  ? Verdict::Device
                                                    : Verdict::Unresolved,
                 "the kernel of " + other + " does the same: what both share, or REF");
    report_.confirmed = true;
    say(Verdict::Renderer, "the source is wrong however it is compiled, that of " + other + " is right");
    name_node();
  }

 private:
  static constexpr int64_t kAll = INT64_MAX;  // of passes; C goes the way by LLVM IR
  static constexpr size_t kMostLooks = 60;

  void say(Verdict verdict, const std::string& detail) { report_.verdict = verdict, report_.detail = detail; }

  bool is_wrong_in_ref() { return run_.is_small() && !run_.is_right_in_ref(list_); }

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

  bool passes_on(const std::string& target) {
    auto attempt = catch_failures([&] {
      Placement other = std::move(choose_placement("", target, list_[0].graph().settings()).value_or_throw());
      Compilation c = run_.begin(target);
      auto& list = c.list();
      if (!list) return false;
      Executable kernel = std::move(Executable::for_device(*list, *other.target, *other.device).value_or_throw());
      return run_.run(kernel, *other.device).passes();
    });
    return attempt && *attempt;
  }

  // Whether it passes when vectors are stored, or loaded, element by element: names the first of those.
  bool name_moved_vector() {
    for (Op op : {Op::STORE, Op::LOAD}) {
      auto first = std::ranges::find_if(list_, [&](UOp u) { return u.is(op) && moves_vector(u); });
      if (first == list_.end()) continue;
      std::vector<UOp> list = by_elements(list_, op);
      auto kernel = run_.executable(list);
      if (!kernel || !run_.run(*kernel, *run_.place().device).passes()) continue;
      report_.confirmed = true;
      name_node(*first);
      return true;
    }
    return false;
  }

  // From a value that is stored down to the first that is wrong while its sources are right.
  void name_node() {
    for (size_t i = 0; i < list_.size(); i++) {
      if (!list_[i].is(Op::STORE) || !list_[i].src(0).in({Op::INDEX, Op::CAST})) continue;
      UOp wrong;
      for (UOp next = list_[i].src(1); next;) {
        UOp at = std::exchange(next, {});
        if (!is_value_wrong(i, at)) break;
        wrong = at;
        for (UOp s : at.src())
          if (UOp value = value_of(s); !next && can_store(i, value) && is_value_wrong(i, value)) next = value;
      }
      if (wrong) return name_node(wrong);
    }
  }

  void name_node(UOp node) {
    report_.before = tree_text(node, 1);
    auto map = source_map(*run_.place().target, list_);
    auto at = std::ranges::find(list_, node);
    if (!map || at == list_.end()) return;
    SourceLines where = map->of_node[size_t(at - list_.begin())];
    for (size_t k = 0; k < where.count; k++) report_.after += map->lines[where.first - 1 + k] + "\n";
    if (where.count) report_.location = "line " + std::to_string(where.first) + " of the source";
  }

  // Of a place what it is computed from: its offset.
  static UOp value_of(UOp u) {
    UOp place = u.is(Op::CAST) ? u.src(0) : u;
    return place.is(Op::INDEX) && place.num_src() > 1 ? place.src(1) : u;
  }

  // Whether a value stands in the function's own block, where the store is, and fits into the result.
  bool can_store(size_t store, UOp value) const {
    DType to = list_[store].src(1).dtype(), d = value.dtype();
    bool fits = d == to.scalar() || d == to || (to.scalar().itemsize() >= 4 && !dtypes::is_bool(to));
    return fits && d.is_value() && !d.is(Scalar::Void) && !value.in({Op::CONST, Op::VCONST}) &&
           (d.count() == to.count() || d.count() == 1);
  }

  // Whether the device stores something else than REF when that value is stored in the result's place.
  bool is_value_wrong(size_t store, UOp value) {
    if (looks_++ > kMostLooks) return false;
    std::vector<UOp> other;
    std::unordered_map<UOp, UOp> instead;
    auto put = [&](UOp made) { return other.push_back(made.rtag()), other.back(); };  // a node of its own
    for (UOp u : list_) {
      std::vector<UOp> src;
      for (UOp s : u.src()) src.push_back(instead.contains(s) ? instead[s] : s);
      if (u == list_[store]) {
        DType to = src[1].dtype();
        src[1] = value;
        if (!(value.dtype().scalar() == to.scalar()))
          src[1] = put(src[1].cast(value.dtype().count() > 1 ? to : to.scalar()));
        if (src[1].dtype().count() < to.count()) src[1] = put(src[1].broadcast(to.count()));
      }
      if (!std::ranges::equal(src, u.src())) instead[u] = u.with_src(src);
      other.push_back(instead.contains(u) ? instead[u] : u);
    }
    if (dies_) {  // what is not needed might still do that
      std::vector<UOp> needed = toposort(other.back());
      std::unordered_set<UOp> kept(needed.begin(), needed.end());
      std::erase_if(other, [&](UOp u) { return !kept.contains(u); });
    }
    return run_.differs_from_ref(other);
  }

  FailingRun& run_;
  std::span<const UOp> list_;
  BisectReport& report_;
  Executable kernel_;
  CompileJob job_;
  size_t looks_ = 0;
  bool dies_ = false;
};

}  // namespace

void blame_below(FailingRun& run, std::span<const UOp> list, const Outcome& failed, BisectReport& report) {
  Below(run, list, report).blame(failed);
}

}  // namespace tgc
