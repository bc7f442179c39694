// RewriteListProver: decides all rewrites of a list.
#pragma once
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "lib/prove/loop_maps.h"
#include "lib/prove/prove_sides.h"
#include "lib/compilation/rewrite_log.h"

namespace tgc {

class RewriteListProver {
 public:
  // Returns pairs of nodes of tgc's IR. The sides are equal if the nodes of each pair are.
  using ImportSides = std::function<Result<SidePairs>(const RewriteSides&)>;

  // Each application of depth 0 must be in one of `graph_rewrites`.
  RewriteListProver(std::span<const Rewrite> list, std::span<const TopLevelRewrite> graph_rewrites,
                    SidesProver& prover, ImportSides import)
      : rule_applications_(list), graph_rewrites_(graph_rewrites), sides_prover_(prover),
        import_sides_(std::move(import)) {}

  // Decides each application by a proof, or else at sample points. sides[i] are the sides of application i.
  std::vector<RewriteProof> decide_rewrites(std::span<const RewriteSides> sides);

 private:
  RewriteProof decide(size_t i, const RewriteSides& s, const Result<SidePairs>& pairs, bool& depends_on_other_rewrites);
  RewriteProof decide(const Result<SidePairs>& pairs);
  RewriteProof decide_loops(const TopLevelRewrite& top);
  RewriteProof decide_stores(const TopLevelRewrite& top, UOp after);
  RangeMap find_replaced_loops(size_t i) const;
  bool preserves_iterations(const RangeMap& map, std::optional<WrongIteration>& wrong) const;
  const TopLevelRewrite& top_rewrite_of(size_t i) const;

  std::span<const Rewrite> rule_applications_;
  std::span<const TopLevelRewrite> graph_rewrites_;
  SidesProver& sides_prover_;
  ImportSides import_sides_;
  std::map<const TopLevelRewrite*, RewriteProof> loop_proofs_;
};

}  // namespace tgc
