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
  std::string why = {};  // if Unknown
  std::string before = {}, after = {};  // the instance that is refuted or not proven
  std::map<std::string, std::string> counterexample = {};
  // If a proof is not bit-exact: values for which a NaN, an infinity or the sign of zero differs.
  std::map<std::string, std::string> special = {};
  double seconds = 0;
};

std::string_view name_of(RuleProof::Kind kind);

// Returns whether both sides of the rule are values. Other rules are structural.
bool is_value_rule(const Rule& rule);

// Decides one rule. Stops after `most_seconds` of wall time: then the instances so far count.
RuleProof prove_rule(const Rule& rule, ProofCache& cache, double most_seconds = 20);

// Return the verdicts as text, one rule a line, and as JSON.
std::string rule_proofs_text(const std::vector<RuleProof>& all);
std::string rule_proofs_json(const std::vector<RuleProof>& all);

}  // namespace tgc
