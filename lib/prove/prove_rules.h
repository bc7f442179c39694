// prove_rule: decides whether both sides of a rule compute the same for all values that its pattern admits.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "lib/prove/obligation.h"
#include "lib/rules/rule_catalog.h"

namespace tgc {

struct RuleProof {
  enum class Kind : uint8_t {
    Proven,       // for all constants that the pattern admits and all values of leaves, in the dtypes of RuleInstances
    Conditional,  // proven where `condition` holds; elsewhere, REF computes different values for an instance
    Refuted,      // REF computes different values for an instance
    Instances,    // instances are proven, but perhaps not all that the pattern admits
    Structural,   // no rule of scalar values, so only `tgc prove INPUT` can decide its rewrites
    Unknown,      // none of the above: for example, an instance is not proven
  };
  const Rule* rule = nullptr;
  Kind kind = Kind::Unknown;
  size_t num_instances = 0;  // number of instances that are proven
  bool has_floats = false;
  FloatSense sense = FloatSense::Uninterpreted;
  std::string condition = {};
  bool has_assumed_bounds = false;      // the proof assumes that bounds (vmin, vmax) are right
  bool is_by_specification = false;     // a specification (rule_specs.h) is proven, and agrees with the C++ code
  std::string reason = {};              // why the rule is not proven, if this is known
  std::string before = {}, after = {};
  std::map<std::string, std::string> counterexample = {};
  // Values for which the sides of a proof that is not bit-exact differ, for example in a NaN or the sign of zero; empty
  // if none are found.
  std::map<std::string, std::string> special_inputs = {};
  double proof_seconds = 0;
};

std::string_view name_of(RuleProof::Kind kind);
// Returns the name of a proof's float sense (name_of(FloatSense)); "none" if it compares no floats.
std::string_view sense_name(const RuleProof& proof);

// Limits for one rule, of work instead of time, so that few verdicts depend on the machine.
struct RuleLimits {
  uint64_t rlimit = 300'000;
  uint64_t symbolic_rlimit = 4'000'000;  // Z3's limit if constants are unknown values; 1 million takes about 0.3 s
  uint64_t ieee_rlimit = 400'000;
  // most instances that are decided, chosen evenly among those to which the rule applies
  size_t max_instances = 240;
  // number of instances that are neither proven nor refuted, after which no more are tried
  size_t max_open_instances = 30;
  size_t max_symbolic_instances = 4000;  // most left sides with unknown constants; a rule with more is not proven
};

// Returns true if `rule` rewrites nodes; rules of lib/spec only check nodes.
bool is_rewrite(const Rule& rule);

// Returns true if the pattern of `rule` is an elementwise op on values, and the rule changes no context. Other rules
// are structural.
bool is_value_rule(const Rule& rule);

// Decides one rule within `limits`.
RuleProof prove_rule(const Rule& rule, ProofCache& cache, const RuleLimits& limits = {});

// Returns the verdict of one rule as text.
std::string rule_proof_text(const RuleProof& proof);
std::string rule_proofs_summary(const std::vector<RuleProof>& all);
std::string rule_proofs_json(const std::vector<RuleProof>& all);

}  // namespace tgc
