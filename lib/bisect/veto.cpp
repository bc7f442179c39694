#include "lib/bisect/veto.h"

#include <algorithm>

#include "lib/bisect/rewrite_sides.h"
#include "lib/bisect/strategies.h"
#include "lib/compilation/watchers.h"
#include "lib/trace/trace_file.h"

namespace tgc {

CulpritProof CulpritProver::prove_culprit(const Rewrite& a) {
  const EquivalenceResult sides = observed_run_.side_equivalence(a);
  if (are_sides_unlike(sides)) {
    if (CulpritProof proof = prove_by_veto(a); proof != CulpritProof::None) return proof;
    const bool is_proven =
        executor_.does_ref_agree() && is_wrong_after_stage(a.stage) && run_stage_without_rewrite(a).passes();
    return is_proven ? CulpritProof::ByStage : CulpritProof::None;
  }
  if (sides.differs_at_one_point_in(2) && run_without_rewrite(a).passes()) return CulpritProof::ByRun;
  for (const TopLevelRewrite& r : observed_run_.application_log.top_rewrites())
    for (size_t i = 0; i < r.application_indices.size(); i++) {
      if (observed_run_.application_log.all_rewrites()[r.application_indices[i]].rewrite_number < a.rewrite_number)
        continue;
      if (r.stage != a.stage || !can_run_input(r)) break;
      KernelOutcome before = run_partial_graph(r, i);
      if (before.is_refused()) break;
      if (!before.passes() || run_partial_graph(r, i + 1).passes()) return CulpritProof::None;
      if (!executor_.does_ref_agree()) return prove_by_veto(a);
      if (a.depth == 0) return CulpritProof::ByGraph;
      // The top-level rewrite that contains `a` is wrong. If the compilation is refused without `a`, then the two sides
      // of `a` decide whether `a` is the cause.
      KernelOutcome other = run_without_rewrite(a);
      if (other.passes()) return CulpritProof::ByRun;
      if (other.is_refused() ? sides.is_beyond_rounding : run_stage_without_rewrite(a).passes())
        return CulpritProof::ByGraph;
      return prove_by_rule_veto(a);  // a later application of the rule may have the same effect
    }
  return prove_by_veto(a);
}

CulpritProof CulpritProver::prove_by_veto(const Rewrite& a) {
  return run_without_rewrite(a).passes() ? CulpritProof::ByRun : prove_by_rule_veto(a);
}

CulpritProof CulpritProver::prove_by_rule_veto(const Rewrite& a) {
  RewriteVeto veto([&](uint64_t, const RuleHit& hit, UOp) { return hit.rule == a.rule && hit.branch == a.branch; });
  return executor_.compile_and_run(&veto).passes() ? CulpritProof::ByRule : CulpritProof::None;
}

bool CulpritProver::is_wrong_after_stage(const StageRow* stage) {
  return std::ranges::any_of(observed_run_.application_log.stage_runs(), [&](const StageRun& run) {
    if (run.row != stage || !run.result) return false;
    KernelOutcome after = executor_.run_watched_graph(run.result);
    return !after.passes() && !after.is_refused();
  });
}

KernelOutcome CulpritProver::run_without_rewrite(const Rewrite& a, const Rewrite* second) {
  const std::string node = second ? describe(second->before) : "";
  RewriteVeto veto([&](uint64_t number, const RuleHit& hit, UOp before) {
    return number == a.rewrite_number || (second && hit.rule == second->rule && describe(before) == node);
  });
  return executor_.compile_and_run(&veto);
}

// Runs the graph after the stage of `a` in REF, without `a`: later stages might make the same error again.
KernelOutcome CulpritProver::run_stage_without_rewrite(const Rewrite& a) {
  RewriteVeto veto([&](uint64_t number, const RuleHit&, UOp) { return number == a.rewrite_number; });
  Compilation c = executor_.begin_compilation();
  ScopedObserver watched(c, veto);
  if (auto done = c.run_through_stage(*a.stage); !done) return refused_outcome(done.diag());
  const UOp after = c.current_graph();
  c.set_stage_observer(nullptr);
  return executor_.run_graph(after);
}

KernelOutcome CulpritProver::run_partial_graph(const TopLevelRewrite& r, size_t count) {
  std::vector<std::pair<UOp, UOp>> first;
  for (size_t i = 0; i < count; i++) {
    const Rewrite& a = observed_run_.application_log.all_rewrites()[r.application_indices[i]];
    first.emplace_back(a.before, a.after);
  }
  auto graph = catch_failures([&] { return apply_rewrites(r.input, r.bottom_up, first, r.gated_nodes); });
  return graph ? executor_.run_watched_graph(*graph) : refused_outcome(graph.diag());
}

Verdict CulpritProver::make_verdict(const Rewrite& a, CulpritProof proof) {
  const EquivalenceResult sides = observed_run_.side_equivalence(a);
  Verdict out{.kind = Verdict::Kind::Rewrite};
  describe_rewrite(a, out);
  out.witness = sides.witness;
  if (sides.kind == EquivalenceResult::Kind::Differ)
    out.witness["before"] = sides.before, out.witness["after"] = sides.after;
  if (are_sides_unlike(sides)) out.detail = type_difference_text(a);
  if (std::string constant = unrepresentable_constant(a); !constant.empty())
    out.detail = "it has " + std::string(kOutOfRangeConstantText) + ": " + constant;
  out.is_confirmed = proof != CulpritProof::None;
  out.proof = proof == CulpritProof::ByRule    ? "it passes without that rule"
              : proof == CulpritProof::ByGraph ? "in REF the graph is right before it, and wrong after it"
              : proof == CulpritProof::ByStage
                  ? "in REF the graph after its stage is wrong, and right without the rewrite"
              : proof == CulpritProof::None ? "its sides differ, but no run without it passes"
                                            : "";
  return out;
}

Verdict verdict_on_two_rewrites(CulpritProver& prover, const Rewrite& first, const Rewrite& second) {
  Verdict out = prover.make_verdict(first, CulpritProof::ByRun);
  out.detail = "it is one of two culprits; the other is " + rewrite_text(second);
  out.proof = "it fails without this rewrite alone, and passes without both";
  return out;
}

// A nested rewrite is the culprit if (1) its sides differ at half of the points or more, and either they have no
// leaves, such as loops, or the kernel is refused without the rewrite; or (2) its sides cannot be compared, and the
// kernel passes without the rewrite; or (3) nested_culprit() returns it. If there is no such rewrite and the sides of
// some nested rewrites cannot be compared, the verdict is unresolved.
Verdict CulpritProver::narrowed_verdict(const Rewrite& whole, CulpritProof proof) {
  constexpr size_t kMostVetoed = 64;
  const auto& list = observed_run_.application_log.all_rewrites();
  const size_t end = observed_run_.index_of_rewrite(whole), first = first_nested_rewrite(list, end);
  for (const Rewrite* a : observed_run_.suspect_rewrites()) {
    const EquivalenceResult sides = observed_run_.side_equivalence(*a);
    if (a->rewrite_number >= list[first].rewrite_number && a->rewrite_number < whole.rewrite_number &&
        sides.differs_at_one_point_in(2) && (sides.witness.empty() || run_without_rewrite(*a).is_refused()))
      return make_verdict(*a, proof);
  }
  // the search of --cmd has not compared the sides
  if (observed_run_.compared_sides.empty()) executor_.compare_sides();
  std::vector<const Rewrite*> unknown;
  for (size_t i = first; i < end; i++)
    if (observed_run_.side_equivalence(list[i]).kind == EquivalenceResult::Kind::Open) unknown.push_back(&list[i]);
  for (size_t i = 0; i < std::min(unknown.size(), kMostVetoed); i++)
    if (run_without_rewrite(*unknown[i]).passes()) return make_verdict(*unknown[i], CulpritProof::ByRun);
  evaluate_more_points(first, end);
  if (const Rewrite* nested = nested_culprit(whole, first, end))
    return make_verdict(*nested, CulpritProof::ByRule);
  if (unknown.empty()) return make_verdict(whole, proof);
  return {.kind = Verdict::Kind::Unresolved,
          .detail = "the culprit is " + rewrite_text(whole) + ", or a rewrite nested in it: " +
                    rewrite_text(*unknown[0]) +
                    (unknown.size() > 1 ? " and " + std::to_string(unknown.size() - 1) + " more" : ""),
          .stage = std::string(whole.stage->name)};
}

// Evaluates the rewrites list[first..end) at other sample points, until the sides of a rewrite differ or kMostSeeds is
// reached.
void CulpritProver::evaluate_more_points(size_t first, size_t end) {
  constexpr uint64_t kMostSeeds = 9;
  const auto& list = observed_run_.application_log.all_rewrites();
  auto& sides = observed_run_.compared_sides;
  end = std::min(end, sides.size());
  if (first >= end) return;
  auto differs = [](const EquivalenceResult& s) { return s.kind == EquivalenceResult::Kind::Differ; };
  auto is_nested = [&](const Rewrite& a) {
    return a.rewrite_number >= list[first].rewrite_number && a.rewrite_number <= list[end - 1].rewrite_number;
  };
  for (uint64_t seed = 2; seed <= kMostSeeds; seed++) {
    if (std::any_of(sides.begin() + ptrdiff_t(first), sides.begin() + ptrdiff_t(end), differs)) return;
    auto more = evaluate_sides(observed_run_.compilation, list, repro_.arrays.inputs, repro_.options.input.variables,
                               is_nested, seed);
    if (!more) return;
    for (size_t i = first; i < end; i++)
      if (differs((*more)[i - first])) sides[i] = (*more)[i - first];
  }
}

// The rewrites in list[first..end) are nested in `whole`. Returns one such that the kernel passes without that branch
// of its rule although `whole` still applies; null if none is found.
const Rewrite* CulpritProver::nested_culprit(const Rewrite& whole, size_t first, size_t end) {
  const std::string node = describe(whole.before);
  auto is_candidate = [&](const Rewrite& a) {
    return !observed_run_.are_sides_identical(a) && a.rule != whole.rule;
  };
  auto is_culprit = [&](const Rewrite& a) {
    bool whole_is_done = false;
    RewriteVeto veto([&](uint64_t, const RuleHit& hit, UOp before) {
      whole_is_done |= hit.rule == whole.rule && describe(before) == node;
      return hit.rule == a.rule && hit.branch == a.branch;
    });
    return executor_.compile_and_run(&veto).passes() && whole_is_done;
  };
  return find_first_by_rule(observed_run_.application_log.all_rewrites(), first, end, is_candidate, is_culprit);
}

// Returns a verdict if several rewrites change the dtype or the number of elements of a value, and the kernel passes
// without their rules.
static std::optional<Verdict> veto_shape_changes(CulpritProver& prover, BisectExecutor& executor) {
  const ObservedRun& watched = executor.observed_run();
  std::vector<const Rewrite*> unlike = watched.suspect_rewrites();
  std::erase_if(unlike, [&](auto* a) { return !are_sides_unlike(watched.side_equivalence(*a)); });
  RewriteVeto veto([&](uint64_t, const RuleHit& hit, UOp) {
    return std::ranges::any_of(unlike, [&](auto* a) { return a->rule == hit.rule && a->branch == hit.branch; });
  });
  if (unlike.size() < 2 || !executor.compile_and_run(&veto).passes()) return std::nullopt;
  Verdict out = prover.make_verdict(*unlike[0], CulpritProof::ByRule);
  out.proof = "it passes without that rule and the others that make such values";
  return out;
}

std::optional<Verdict> veto_rewrites(const FailureRepro& repro, BisectExecutor& executor) {
  constexpr size_t kMostInPairs = 4;
  CulpritProver prover(repro, executor);
  if (auto verdict = veto_shape_changes(prover, executor)) return verdict;
  const std::vector<const Rewrite*> suspect_rewrites = executor.observed_run().suspect_rewrites();
  for (size_t b = 1; b < std::min(suspect_rewrites.size(), kMostInPairs); b++)
    for (size_t a = 0; a < b; a++)
      if (prover.run_without_rewrite(*suspect_rewrites[a], suspect_rewrites[b]).passes())
        return verdict_on_two_rewrites(prover, *suspect_rewrites[a], *suspect_rewrites[b]);
  return std::nullopt;
}

}  // namespace tgc
