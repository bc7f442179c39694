// Strategy: suppress several rewrites at once, of which none alone is the culprit.
#include "lib/bisect/rewrite_proof.h"
#include "lib/bisect/rewrite_text.h"
#include "lib/bisect/strategies.h"

namespace tgc {
namespace {

// Suppresses the rules of all rewrites that make values of another dtype or number of elements.
std::optional<Verdict> veto_unlike(RewriteProver& prover, Executor& executor) {
  const WatchedRun& watched = executor.watched();
  std::vector<const Application*> unlike = watched.suspects();
  std::erase_if(unlike, [&](auto* a) { return !is_unlike(watched.sides_of(*a)); });
  Veto veto([&](uint64_t, const Hit& hit, UOp) {
    return std::ranges::any_of(unlike, [&](auto* a) { return a->rule == hit.rule && a->branch == hit.branch; });
  });
  if (unlike.size() < 2 || !executor.attempt(&veto).passes()) return std::nullopt;
  Verdict out = prover.verdict(*unlike[0], Proof::ByRule);
  out.proof = "it passes without that rule and the others that make such values";
  return out;
}

}  // namespace

std::optional<Verdict> veto_rewrites(const FailureRepro& repro, Executor& executor) {
  constexpr size_t kMostInPairs = 4;
  RewriteProver prover(repro, executor);
  if (auto verdict = veto_unlike(prover, executor)) return verdict;
  const std::vector<const Application*> suspects = executor.watched().suspects();
  for (size_t b = 1; b < std::min(suspects.size(), kMostInPairs); b++)
    for (size_t a = 0; a < b; a++)
      if (prover.run_without(*suspects[a], suspects[b]).passes())
        return verdict_on_two(prover, *suspects[a], *suspects[b]);
  return std::nullopt;
}

}  // namespace tgc
