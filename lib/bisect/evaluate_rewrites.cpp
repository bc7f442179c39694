#include "lib/bisect/veto.h"
#include "lib/bisect/rewrite_sides.h"
#include "lib/bisect/strategies.h"

namespace tgc {
namespace {

// If the kernel still stores wrong values without `culprit`, returns a second rewrite such that the kernel passes
// without both; null if none is found.
const Rewrite* second_culprit(CulpritProver& prover, const ObservedRun& watched, const Rewrite& culprit) {
  constexpr size_t kMostPartners = 4;
  if (prover.run_without_rewrite(culprit).kind != KernelOutcome::Kind::Fails) return nullptr;
  size_t tries = 0;
  for (const Rewrite* other : watched.suspect_rewrites())
    if (other != &culprit && watched.side_equivalence(*other).is_beyond_rounding && tries++ < kMostPartners &&
        prover.run_without_rewrite(culprit, other).passes())
      return other;
  return nullptr;
}

}  // namespace

std::optional<Verdict> evaluate_rewrites(const FailureRepro& repro, BisectExecutor& executor) {
  const ObservedRun& watched = executor.observed_run();
  if (!watched.outcome.passes() && !is_endless(watched.outcome)) executor.compare_sides();
  CulpritProver prover(repro, executor);
  for (const Rewrite* a : watched.suspect_rewrites()) {
    const CulpritProof proof = prover.prove_culprit(*a);
    if (proof == CulpritProof::None) continue;
    if (proof == CulpritProof::ByGraph)
      if (const Rewrite* second = second_culprit(prover, watched, *a))
        return verdict_on_two_rewrites(prover, *a, *second);
    return prover.narrowed_verdict(*a, proof);
  }
  return std::nullopt;
}

std::optional<Verdict> name_unproven_rewrite(const FailureRepro& repro, BisectExecutor& executor) {
  const ObservedRun& watched = executor.observed_run();
  if (!executor.does_ref_agree()) return std::nullopt;
  CulpritProver prover(repro, executor);
  std::vector<const Rewrite*> clear;
  for (const Rewrite* a : watched.suspect_rewrites())
    if (watched.side_equivalence(*a).differs_at_one_point_in(4)) clear.push_back(a);
  const bool is_only_rule = std::ranges::all_of(clear, [&](auto* a) { return a->rule == clear[0]->rule; });
  if (!repro.is_small && !clear.empty() && is_only_rule) return prover.make_verdict(*clear[0], CulpritProof::None);
  for (const Rewrite* a : clear)
    for (const StageRun& run : watched.application_log.stage_runs()) {
      if (run.row != a->stage) continue;
      if (executor.run_watched_graph(run.input).passes() &&
          !(run.result && executor.run_watched_graph(run.result).passes()))
        return prover.make_verdict(*a, CulpritProof::None);
      break;
    }
  return std::nullopt;
}

}  // namespace tgc
