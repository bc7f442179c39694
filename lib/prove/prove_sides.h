// SidesProver: decides whether the two sides of rewrites compute the same.
#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/prove/lanes.h"
#include "lib/prove/obligation.h"
#include "lib/validate/rewrite_equivalence.h"

namespace tgc {

// The stage and the rule that made a rewrite. The texts are owned by the compilation or the recording.
struct RewritePlace {
  size_t stage_number = SIZE_MAX;  // number of the stage, from 0; SIZE_MAX if before the first stage
  std::string_view stage, rule, branch = {};
  std::string_view file = {};
  size_t line = 0;
  uint64_t rule_rewrite_number = 0;  // number of the rewrite among those of the rule in the stage, from 1
};

struct RewriteProof {
  enum class Kind : uint8_t {
    Proven,   // for all values
    Sampled,  // equal at sample points in REF, but not proven
    Refuted,  // REF computes different values
    Unknown,
  };
  Kind kind = Kind::Unknown;
  bool has_floats = false;
  FloatSense sense = FloatSense::Uninterpreted;  // if Proven: the sense of floats in which it is proven
  std::string_view proof_method = {};  // the deciding method: "values", "same", the name of a contract, ...
  std::string reason = {};
  // in ulp: the error of a proof over the reals at sample points, or of an approximation
  std::optional<double> largest_error = {};
  std::string rewrite_hash = {};  // a hash that is equal for rewrites that are equal up to renaming; empty if not known
  size_t application_index = 0;
  RewritePlace place = {};
  std::string before = {}, after = {};  // if Refuted: the sides as expressions, if they have values
  std::vector<std::string> before_nodes = {}, after_nodes = {};  // if Refuted: the sides' nodes, by node_values()
  // If Refuted, by name: values of leaves for which the sides differ, and what REF computes: the sides' values
  // ("before", "after"), or the wrong element that the stage stores ("stored"). For new loops that may be wrong: an
  // iteration, and how often they may run it ("runs").
  std::map<std::string, std::string> counterexample = {};
};

// Pairs of nodes. A rewrite is right if the nodes of each pair are equal.
using SidePairs = std::vector<RewriteSides>;

// May be used by one thread only.
class SidesProver {
 public:
  // `sizes` maps the number of each DEFINE_GLOBAL to its number of elements.
  SidesProver(Graph& graph, std::map<int64_t, int64_t> sizes, ProofCache& cache, ProofLimits limits = {})
      : side_isolator_(graph, std::move(sizes)),
        prover_(side_isolator_.isolator(), cache, limits),
        known_verdicts_(cache.verdicts()) {}

  // Decides by proofs, without REF. The kind of the result is Proven or Unknown. `over_reals` is as for
  // Prover::prove_values().
  RewriteProof decide_sides(const RewriteSides& s, bool over_reals = false);
  // Decides all pairs of a rewrite. The result is Unknown if there are no pairs.
  RewriteProof decide_sides(const SidePairs& pairs);

  // Evaluates the sides pairs[i] of each rewrite open[i], which is not proven, in REF, and updates its verdict. With
  // `asks_z3`, also at points that Z3 finds.
  void evaluate_open_rewrites(std::span<RewriteProof* const> open, std::span<const SidePairs* const> pairs,
                              bool asks_z3 = true);

  // Returns the key of a rewrite in KnownVerdicts: a hash of its sides' structure, and of whether values may be
  // infinite. Returns "" if a side has no node, or if there are no pairs.
  std::string cache_key_of(const SidePairs& pairs);
  KnownVerdicts* known_verdicts() { return known_verdicts_; }  // null if no verdicts are kept
  // Must be called if memory to which the kernel stores may contain infinities.
  void allow_infinities() { prover_.allow_infinities(), has_infinities_ = true; }

  // Returns values of leaves, and of the sides ("before" and "after"), for which REF computes different values; an
  // empty map if none are found. Tries special floats, such as NaN.
  std::map<std::string, std::string> special_counterexample(const SidePairs& pairs);

  // Returns the largest error of the pairs at sample points (largest_error()); nullopt if it is not known.
  std::optional<double> largest_error_of(const SidePairs& pairs);

  const ProofCounts& counts() const { return prover_.proof_counts(); }

 private:
  RewriteProof decide_by_parts(const RewriteSides& s);
  RewriteProof decide_around_reduces(const RewriteSides& s);
  RewriteProof prove_equal_sums(UOp before, UOp after);
  bool is_bounds_comparison(const RewriteSides& s);
  void evaluate_constants(std::span<const RewriteSides> sides, std::span<RewriteProof* const> of);

  SideIsolator side_isolator_;
  Prover prover_;
  LaneForms lane_forms_, ordered_lane_forms_{true};
  KnownVerdicts* known_verdicts_;
  NodeKeys node_keys_;
  bool has_infinities_ = false;
};

}  // namespace tgc
