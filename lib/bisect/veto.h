// CulpritProver: proves that a rewrite is the culprit by runs with and without it.
#pragma once
#include <optional>
#include <set>

#include "lib/bisect/executor.h"

namespace tgc {

enum class CulpritProof : uint8_t {
  None,
  ByRun,    // the run passes if this one application is suppressed
  ByRule,   // the run passes if all applications of its rule and branch are suppressed
  ByGraph,  // in REF the graph is right before the rewrite and wrong after it
  ByStage,  // in REF the graph after the stage is wrong, and right if this one application is suppressed
};

class CulpritProver {
 public:
  CulpritProver(const FailureRepro& repro, BisectExecutor& executor)
      : repro_(repro), executor_(executor), observed_run_(executor.observed_run()) {}

  // Tries to prove that the rewrite is the culprit: by suppressing it or its rule, or by graphs in REF.
  CulpritProof prove_culprit(const Rewrite& a);
  // Tries to prove that the rewrite is the culprit by suppressing it, then all applications of its rule and branch.
  CulpritProof prove_by_veto(const Rewrite& a);
  // Tries to prove that the rewrite's rule is the culprit by suppressing all applications of its rule and branch.
  CulpritProof prove_by_rule_veto(const Rewrite& a);

  // Compiles and runs the kernel without `a` and, if not null, `second`. Recognizes `second` by its rule and node,
  // because its number changes if `a` is suppressed.
  KernelOutcome run_without_rewrite(const Rewrite& a, const Rewrite* second = nullptr);
  // Runs in REF the graph after the first `count` applications of the top-level rewrite `r`.
  KernelOutcome run_partial_graph(const TopLevelRewrite& r, size_t count);

  Verdict make_verdict(const Rewrite& a, CulpritProof proof);
  // Returns the verdict for `whole`, a rewrite that is proven to be wrong, or for the rewrite nested in it that is the
  // cause; Unresolved if it is unknown which of them is.
  Verdict narrowed_verdict(const Rewrite& whole, CulpritProof proof);

 private:
  bool is_wrong_after_stage(const StageRow* stage);
  KernelOutcome run_stage_without_rewrite(const Rewrite& a);
  void evaluate_more_points(size_t first, size_t end);
  const Rewrite* nested_culprit(const Rewrite& whole, size_t first, size_t end);

  const FailureRepro& repro_;
  BisectExecutor& executor_;
  ObservedRun& observed_run_;
};

// Returns the verdict on two rewrites. The kernel must fail without `first` alone, and pass without both.
Verdict verdict_on_two_rewrites(CulpritProver& prover, const Rewrite& first, const Rewrite& second);

// Returns true if the top-level rewrite is of a whole kernel, so that REF may be able to run the graphs before and
// after it.
inline bool can_run_input(const TopLevelRewrite& r) { return r.input.is(Op::SINK); }

inline bool are_sides_unlike(const EquivalenceResult& s) { return s.kind == EquivalenceResult::Kind::Unlike; }

// Returns an application of list[first..end) for which is_candidate() and is_culprit() are true; null if none is found.
// Calls is_culprit() for only one application of each rule and branch, and for a limited number of applications.
template <class IsCandidate, class IsCulprit>
const Rewrite* find_first_by_rule(std::span<const Rewrite> list, size_t first, size_t end,
                                  IsCandidate is_candidate, IsCulprit is_culprit) {
  std::set<std::pair<const Rule*, const char*>> tried_branches;
  for (size_t i = first; i < end && tried_branches.size() < 64; i++)
    if (is_candidate(list[i]) && tried_branches.emplace(list[i].rule, list[i].branch).second && is_culprit(list[i]))
      return &list[i];
  return nullptr;
}

}  // namespace tgc
