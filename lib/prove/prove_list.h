// ListProver: decides all rewrites of a list.
#pragma once
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "lib/prove/loop_maps.h"
#include "lib/prove/prove_sides.h"
#include "lib/compilation/rewrite_log.h"

namespace tgc {

class ListProver {
 public:
  // Returns the pairs of nodes of tgc's IR that must be equal if the sides are.
  using Import = std::function<Result<SidePairs>(const Sides&)>;

  // Each application of depth 0 must be in one of `graph_rewrites`.
  ListProver(std::span<const Application> list, std::span<const TopRewrite> graph_rewrites, SidesProver& prover,
             Import import)
      : applications_(list), graph_rewrites_(graph_rewrites), prover_(prover), import_sides_(std::move(import)) {}

  // Decides each application by a proof, or else at sample points. sides[i] are the sides of application i.
  std::vector<RewriteProof> decide_rewrites(std::span<const Sides> sides);

 private:
  RewriteProof decide(size_t i, const Sides& s, const Result<SidePairs>& pairs, bool& is_of_list);
  RewriteProof decide(const Result<SidePairs>& pairs);
  RewriteProof decide_loops(const TopRewrite& top);
  RewriteProof decide_stores(const TopRewrite& top, UOp after);
  RangeMap replaced_loops(size_t i) const;
  bool has_same_iterations_as(const RangeMap& map, std::optional<WrongIteration>& wrong) const;
  const TopRewrite& top_rewrite_of(size_t i) const;

  std::span<const Application> applications_;
  std::span<const TopRewrite> graph_rewrites_;
  SidesProver& prover_;
  Import import_sides_;
  std::map<const TopRewrite*, RewriteProof> loop_proofs_;
};

}  // namespace tgc
