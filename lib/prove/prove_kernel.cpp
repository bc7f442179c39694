#include "lib/prove/prove_kernel.h"

#include <algorithm>

#include "lib/prove/prove_list.h"
#include "lib/prove/stage_runner.h"
#include "lib/rewrite/rewrite.h"
#include "lib/rewrite/rewrite_override.h"
#include "lib/support/clocks.h"
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

  // Runs the graphs before and after each stage in REF that has a rewrite without values. Loops are shortened.
  void sample_stages() {
    std::map<const StageRow*, std::optional<std::string>> differences;  // "": none
    for (RewriteProof& r : out_.rewrites) {
      if (r.kind != Kind::Unknown) continue;
      const Application& a = out_.log.list()[r.application];
      auto run = std::ranges::find(out_.log.stages(), a.stage, &StageRun::row);
      if (!a.stage || run == out_.log.stages().end()) continue;
      auto [it, is_new] = differences.try_emplace(a.stage);
      if (is_new) it->second = stages_.difference(run->input, run->result);
      if (!it->second) continue;
      r.kind = it->second->empty() ? Kind::Sampled : Kind::Refuted;
      if (r.kind == Kind::Refuted) r.counterexample["stored"] = *it->second;
    }
  }

  KernelProof& out_;
  Compilation& c_;
  SidesProver prover_;
  StageRunner stages_{c_.ast()};
};

}  // namespace

size_t KernelProof::count(Kind kind) const { return size_t(std::ranges::count(rewrites, kind, &RewriteProof::kind)); }

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
