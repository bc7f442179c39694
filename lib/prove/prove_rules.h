// Proves the rules themselves: both sides of a rule must compute the same for all values that its pattern admits.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "lib/prove/obligation.h"
#include "lib/rules/rule_catalog.h"

namespace tgc {

struct RuleProof {
  enum class Kind : uint8_t {
    Proven,  // for all dtypes and constants that the pattern admits, and all values of leaves
    Conditional,  // proven under `condition`; REF computes different values for an instance without it
    Refuted,  // REF computes different values for an instance
    Instances,  // each instance that was made is proven for all values of its leaves
    Structural,  // the rule makes loops, stores, vectors or control flow; `tgc prove INPUT` decides its rewrites
    Unknown,  // an instance is not proven, or no instance could be made
  };
  const Rule* rule = nullptr;
  Kind kind = Kind::Unknown;
  size_t instances = 0;  // number of instances that are proven
  bool has_floats = false;
  FloatSense sense = FloatSense::Uninterpreted;
  std::string condition = {};  // if Conditional
  bool by_bounds = false;  // whether the proof takes for granted that bounds (vmin, vmax) are right
  bool by_specification = false;  // whether a specification was proven, and the C++ code tested against it
  std::string why = {};  // if Unknown or Instances
  std::string before = {}, after = {};  // the instance that is refuted or not proven
  std::map<std::string, std::string> counterexample = {};
  // If a proof is not bit-exact: values for which a NaN, an infinity or the sign of zero differs.
  std::map<std::string, std::string> special = {};
  double seconds = 0;
};

std::string_view name_of(RuleProof::Kind kind);
// Returns the float sense of a proof as the reports name it: "bit-exact", "but-nan", "reals", or "none".
std::string_view sense_name(const RuleProof& proof);

// Limits for one rule. They count work, not time, so that verdicts do not depend on the machine.
struct RuleLimits {
  uint64_t rlimit = 300'000;    // Z3's limit for each question about an instance
  uint64_t symbolic_rlimit = 4'000'000;  // the same, if constants are unknown values; 1 million takes about 0.3 s
  uint64_t ieee_rlimit = 400'000;  // the same, for floats of IEEE 754
  size_t most_instances = 240;  // left sides on which the rule's C++ code runs, chosen evenly among all
  size_t most_open = 30;        // instances that are neither proven nor refuted, after which no more are tried
  size_t most_symbolic = 4000;  // left sides with unknown constants; a rule with more is not proven
};

// Returns whether `rule` rewrites nodes; the rules of lib/spec only check them.
bool is_rewrite(const Rule& rule);

// Returns whether both sides of the rule are values. Other rules are structural.
bool is_value_rule(const Rule& rule);

// Decides one rule.
RuleProof prove_rule(const Rule& rule, ProofCache& cache, const RuleLimits& limits = {});

// Return the verdicts as text, one rule a line, and as JSON. The text is made of the text of each rule and a summary.
std::string rule_proof_text(const RuleProof& proof);
std::string rule_proofs_summary(const std::vector<RuleProof>& all);
std::string rule_proofs_json(const std::vector<RuleProof>& all);

}  // namespace tgc
