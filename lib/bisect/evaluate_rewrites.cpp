#include "lib/bisect/veto.h"
#include "lib/bisect/rewrite_sides.h"
#include "lib/bisect/strategies.h"

namespace tgc {
namespace {

// If the kernel still fails without `culprit`, returns a second rewrite such that the kernel passes without both; null
// if none is found.
const AppliedRewrite* second_culprit(RewriteProver& prover, const ObservedRun& watched, const AppliedRewrite& culprit) {
  constexpr size_t kMostPartners = 4;
  if (prover.run_without_rewrite(culprit).kind != KernelOutcome::Kind::Fails) return nullptr;
  size_t tries = 0;
  for (const AppliedRewrite* other : watched.suspect_rewrites())
    if (other != &culprit && watched.side_equivalence(*other).is_beyond_rounding && tries++ < kMostPartners &&
        prover.run_without_rewrite(culprit, other).passes())
      return other;
  return nullptr;
}

}  // namespace

std::optional<Verdict> evaluate_rewrites(const FailureRepro& repro, BisectExecutor& executor) {
  const ObservedRun& watched = executor.observed_run();
  if (!watched.outcome.passes() && !is_endless(watched.outcome)) executor.compare_sides();
  RewriteProver prover(repro, executor);
  for (const AppliedRewrite* a : watched.suspect_rewrites()) {
    const Proof proof = prover.prove_culprit(*a);
    if (proof == Proof::None) continue;
    if (proof == Proof::ByGraph)
      if (const AppliedRewrite* second = second_culprit(prover, watched, *a))
        return verdict_on_two_rewrites(prover, *a, *second);
    return prover.narrowed_verdict(*a, proof);
  }
  return std::nullopt;
}

std::optional<Verdict> name_unproven_rewrite(const FailureRepro& repro, BisectExecutor& executor) {
  const ObservedRun& watched = executor.observed_run();
  if (!executor.does_ref_agree()) return std::nullopt;
  RewriteProver prover(repro, executor);
  std::vector<const AppliedRewrite*> clear;
  for (const AppliedRewrite* a : watched.suspect_rewrites())
    if (watched.side_equivalence(*a).has_one_difference_in(4)) clear.push_back(a);
  const bool is_only_rule = std::ranges::all_of(clear, [&](auto* a) { return a->rule == clear[0]->rule; });
  if (!repro.is_small && !clear.empty() && is_only_rule) return prover.verdict(*clear[0], Proof::None);
  for (const AppliedRewrite* a : clear)
    for (const StageRun& run : watched.application_log.stage_runs()) {
      if (run.row != a->stage) continue;
      if (executor.run_watched_graph(run.input).passes() &&
          !(run.result && executor.run_watched_graph(run.result).passes()))
        return prover.verdict(*a, Proof::None);
      break;
    }
  return std::nullopt;
}

}  // namespace tgc
