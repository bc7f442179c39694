#include "lib/bisect/veto.h"
#include "lib/bisect/strategies.h"
#include "lib/support/first_wrong.h"

namespace tgc {
namespace {

// Returns a rewrite whose sides are equal, but not to the last bit, and without whose rule the kernel passes; null if
// none is found. A small difference can grow: 1 / -0.0 is -infinity.
const Rewrite* nearly_same_culprit(CulpritProver& prover, const ObservedRun& watched) {
  auto is_near = [&](const Rewrite& a) {
    const EquivalenceResult s = watched.side_equivalence(a);
    return s.kind == EquivalenceResult::Kind::Same && !s.is_exact;
  };
  auto is_culprit = [&](const Rewrite& a) { return prover.prove_by_rule_veto(a) == CulpritProof::ByRule; };
  return find_first_by_rule(watched.application_log.all_rewrites(), 0, watched.compared_sides.size(), is_near,
                            is_culprit);
}

}  // namespace

const StageRun* first_wrong_stage(const FailureRepro& repro, BisectExecutor& executor) {
  std::vector<const StageRun*> stages;
  for (const StageRun& s : executor.observed_run().application_log.stage_runs())
    if (s.row->is_graph_stage() && (!s.result || !(s.result == s.input))) stages.push_back(&s);
  auto is_right = [&](size_t i) { return stages[i]->result && executor.run_watched_graph(stages[i]->result).passes(); };
  // test all stages in order, because the graph may be right again after a later stage
  if (repro.options.compare.should_run_each_stage) {
    for (size_t i = 0; i < stages.size(); i++)
      if (!is_right(i)) return stages[i];
    return nullptr;
  }
  if (stages.empty() || is_right(stages.size() - 1)) return nullptr;
  const UOp last = stages.back()->result;
  if (!repro.is_small && last && executor.run_watched_graph(last).is_refused()) return nullptr;
  return stages[*find_first_wrong(0, stages.size(), [&](size_t n) { return !is_right(n - 1); }) - 1];
}

std::optional<Verdict> search_rewrites(const FailureRepro& repro, BisectExecutor& executor) {
  const StageRun* stage = first_wrong_stage(repro, executor);
  if (!stage) return std::nullopt;
  const ObservedRun& watched = executor.observed_run();
  CulpritProver prover(repro, executor);
  for (const TopLevelRewrite& r : watched.application_log.top_rewrites()) {
    const size_t n = r.application_indices.size();
    if (r.stage != stage->row || !can_run_input(r) || n == 0) continue;
    if (!prover.run_partial_graph(r, 0).passes() || prover.run_partial_graph(r, n).passes()) continue;
    const size_t i = *find_first_wrong(0, n, [&](size_t k) { return !prover.run_partial_graph(r, k).passes(); }) - 1;
    if (!prover.run_partial_graph(r, i).passes()) continue;
    const bool is_refused = prover.run_partial_graph(r, i + 1).is_refused();
    // inconclusive if REF cannot run the graph after this rewrite, but can run that after the last rewrite
    if (is_refused && !prover.run_partial_graph(r, n).is_refused()) continue;
    const Rewrite& culprit = watched.application_log.all_rewrites()[r.application_indices[i]];
    if (!is_refused && watched.are_sides_identical(culprit))  // equal sides: the rewrite only exposes an earlier error
      if (const Rewrite* earlier = nearly_same_culprit(prover, watched))
        return prover.make_verdict(*earlier, CulpritProof::ByRule);
    const CulpritProof proof = executor.does_ref_agree() ? CulpritProof::ByGraph : prover.prove_by_veto(culprit);
    if (proof == CulpritProof::None) return std::nullopt;
    Verdict out = prover.narrowed_verdict(culprit, proof);
    if (is_refused) out.proof = "in REF the graph is right before it, and cannot be run after it";
    return out;
  }
  return std::nullopt;
}

std::optional<Verdict> search_by_command(const FailureRepro& repro, BisectExecutor& executor) {
  using Kind = Verdict::Kind;
  const ObservedRun& watched = executor.observed_run();
  if (!watched.outcome.passes()) return Verdict{Kind::Unresolved, watched.outcome.error()};
  if (!executor.run_graph(repro.input_graph.root).passes())
    return Verdict{Kind::Unresolved, "the command already exits with 0 for the input graph"};
  if (auto verdict = search_rewrites(repro, executor)) return verdict;
  const StageRun* stage = first_wrong_stage(repro, executor);
  if (!stage) return Verdict{Kind::Same, "the command does not exit with 0 for the last graph"};
  return Verdict{.kind = Kind::Unresolved,
                 .detail = "the command exits with 0 after this stage, but no single rewrite of it is the cause",
                 .stage = std::string(stage->row->name)};
}

}  // namespace tgc
