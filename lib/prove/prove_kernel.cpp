#include "lib/prove/prove_kernel.h"

#include <algorithm>
#include <set>

#include "lib/prove/prove_list.h"
#include "lib/prove/stage_runner.h"
#include "lib/prove/store_order.h"
#include "lib/rewrite/rewrite.h"
#include "lib/rewrite/rewrite_override.h"
#include "lib/support/clocks.h"
#include "lib/trace/trace.h"
#include "lib/uop/graph.h"
#include "lib/validate/application_sides.h"

namespace tgc {
namespace {

using Kind = RewriteProof::Kind;

class KernelProver {
 public:
  KernelProver(KernelProof& out, ProofCache& cache)
      : out_(out),
        c_(*out.compilation),
        prover_(c_.graph(), memory_sizes(c_.ast()), cache) {}

  void run() {
    UninstrumentedScope uninstrumented(c_.graph());
    std::span<const Application> list = out_.log.list();
    std::vector<size_t> wrong;
    const std::vector<Sides> sides = sides_of_applications(c_, list, wrong);
    ListProver rewrites(list, out_.log.rewrites(), prover_, [](const Sides& s) { return Result(SidePairs{s}); });
    out_.rewrites = rewrites.run(sides);
    for (RewriteProof& r : out_.rewrites) r.place = place_of(list[r.application]);
    check_order();
    sample_stages();
    out_.counts = prover_.counts();
  }

 private:
  RewritePlace place_of(const Application& a) const {
    const std::vector<StageRun>& all = out_.log.stages();
    auto run = std::ranges::find(all, a.stage, &StageRun::row);
    return {.stage_number = a.stage && run != all.end() ? size_t(run - all.begin()) : SIZE_MAX,
            .stage = a.stage ? a.stage->name : std::string_view("before the stages"),
            .rule = a.rule->name,
            .branch = a.branch ? a.branch : std::string_view(),
            .file = short_file(*a.rule),
            .line = a.rule->line,
            .number = a.in_stage};
  }

  void check_order() {
    for (const StageRun& run : out_.log.stages()) {
      std::vector<RewriteProof*> of_stage;
      for (RewriteProof& r : out_.rewrites)
        if (out_.log.list()[r.application].stage == run.row) of_stage.push_back(&r);
      check_store_order(of_stage, out_.log.list(), run.input, run.result);
    }
  }

  // Runs the graphs before and after each stage in REF that has a rewrite without values. Loops are shortened.
  void sample_stages() {
    std::map<const StageRow*, std::optional<std::string>> differences;  // "": none
    std::map<const StageRow*, std::vector<RewriteProof*>> refuted;
    std::set<const StageRow*> wrong;  // stages with a rewrite whose sides have different values
    for (const RewriteProof& r : out_.rewrites)
      if (r.kind == Kind::Refuted) wrong.insert(out_.log.list()[r.application].stage);
    for (RewriteProof& r : out_.rewrites) {
      if (r.kind != Kind::Unknown) continue;
      const Application& a = out_.log.list()[r.application];
      auto run = std::ranges::find(out_.log.stages(), a.stage, &StageRun::row);
      if (!a.stage || run == out_.log.stages().end()) continue;
      auto [it, is_new] = differences.try_emplace(a.stage);
      if (is_new) it->second = stages_.difference(run->input, run->result);
      if (!it->second) continue;
      set_sampled(r, *it->second);
      if (r.kind == Kind::Refuted) refuted[a.stage].push_back(&r);
    }
    for (auto& [stage, rewrites] : refuted)
      if (rewrites.size() > 1 || wrong.contains(stage)) name_guilty(rewrites, wrong.contains(stage));
    sample_several_stages();
  }

  // A stage may make ops that REF lacks. Compares the last graph before such stages with the first one after them. If
  // this is wrong, the first rewrite that is not decided counts as the wrong one.
  void sample_several_stages() {
    std::vector<RewriteProof*> open;
    for (const StageRun& run : out_.log.stages()) {
      for (RewriteProof& r : out_.rewrites) {
        if (out_.log.list()[r.application].stage != run.row) continue;
        if (r.kind == Kind::Refuted) return;  // the graphs after it are wrong because of it
        if (r.kind == Kind::Unknown) open.push_back(&r);
      }
      if (open.empty()) continue;
      const std::optional<std::string> difference = stages_.difference(c_.ast(), run.result);
      if (!difference) continue;
      const std::string after = ", after '" + std::string(run.row->name) + "'";
      if (!difference->empty()) return set_sampled(*open[0], *difference + after);
      for (RewriteProof* r : open) set_sampled(*r, "");
      open.clear();
    }
  }

  static void set_sampled(RewriteProof& r, const std::string& difference) {
    r.kind = difference.empty() ? Kind::Sampled : Kind::Refuted;
    if (r.kind == Kind::Refuted) r.counterexample["stored"] = difference;
  }

  // Of the refuted rewrites of a stage, only those are wrong before which the graph stores the right elements, and
  // after which it does not. If REF cannot tell, all remain refuted, unless another rewrite is known to be wrong.
  void name_guilty(std::span<RewriteProof* const> refuted, bool is_explained) {
    constexpr size_t kMost = 32;
    std::vector<std::optional<std::string>> differences;
    for (size_t i = 0; i < std::min(kMost, refuted.size()); i++) differences.push_back(difference_at(*refuted[i]));
    if (!is_explained && std::ranges::none_of(differences, [](auto& d) { return d && !d->empty(); })) return;
    differences.resize(refuted.size());
    for (size_t i = 0; i < refuted.size(); i++) {
      RewriteProof& r = *refuted[i];
      r.counterexample.erase("stored");
      if (differences[i]) set_sampled(r, *differences[i]);
      else r.kind = Kind::Unknown;
    }
  }

  // Compares the graphs before and after a rewrite, or the rewrite of the stage that contains it.
  std::optional<std::string> difference_at(const RewriteProof& r) {
    const std::vector<Application>& list = out_.log.list();
    for (const TopRewrite& top : out_.log.rewrites()) {
      if (top.stage != list[r.application].stage || top.applications.empty()) continue;
      const auto whole = std::ranges::lower_bound(top.applications, r.application);
      if (whole == top.applications.end()) continue;
      std::vector<std::pair<UOp, UOp>> first;
      auto graph = [&] { return apply_rewrites(top.input, top.bottom_up, first, top.gates); };
      for (auto at = top.applications.begin(); at != whole; ++at) first.emplace_back(list[*at].before, list[*at].after);
      auto graphs = catch_failures([&] {
        const UOp before = graph();
        first.emplace_back(list[*whole].before, list[*whole].after);
        return std::pair(before, graph());
      });
      return graphs ? stages_.difference(graphs->first, graphs->second) : std::nullopt;
    }
    return std::nullopt;
  }

  KernelProof& out_;
  Compilation& c_;
  SidesProver prover_;
  StageRunner stages_{c_.ast()};
};

}  // namespace

size_t KernelProof::count(Kind kind) const { return size_t(std::ranges::count(rewrites, kind, &RewriteProof::kind)); }

size_t KernelProof::distinct(Kind kind) const {
  std::set<std::string_view> forms;
  size_t out = 0;
  for (const RewriteProof& r : rewrites)
    out += r.kind == kind && (r.form.empty() || forms.insert(r.form).second);
  return out;
}

FloatSense KernelProof::weakest() const {
  FloatSense out = FloatSense::Uninterpreted;
  for (const RewriteProof& r : rewrites)
    if (r.kind == Kind::Proven && r.has_floats) out = std::max(out, r.sense);
  return out;
}

bool KernelProof::has_floats() const { return std::ranges::any_of(rewrites, &RewriteProof::has_floats); }

void KernelProof::set_verdict() {
  auto rank = [](Kind k) { return k == Kind::Refuted ? 3 : k == Kind::Unknown ? 2 : k == Kind::Sampled ? 1 : 0; };
  verdict = error ? Kind::Unknown : Kind::Proven;
  for (const RewriteProof& r : rewrites)
    if (rank(r.kind) > rank(verdict)) verdict = r.kind;
}

std::unique_ptr<KernelProof> prove_kernel(Compilation compilation, ProofCache& cache) {
  auto begin = Clock::now();
  auto out = std::make_unique<KernelProof>();
  out->kernel = compilation.name();
  out->compilation.emplace(std::move(compilation));
  out->compilation->watch(&out->log);
  if (auto& list = out->compilation->list(); !list) out->error = list.diag();
  out->compilation->watch(nullptr);
  if (!out->error)
    if (auto done = catch_failures([&] { return KernelProver(*out, cache).run(), true; }); !done)
      out->error = done.diag();
  out->set_verdict();
  out->seconds = seconds_since(begin);
  return out;
}

}  // namespace tgc
