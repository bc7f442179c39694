// prove_live_rules: decides whether the rules of a running tinygrad are right. It compares both sides of instances that
// tgc.export.rules recorded.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/compilation/input_graph.h"
#include "lib/prove/prove_sides.h"
#include "lib/prove/shown_program.h"

namespace tgc {

struct LiveInstance {
  std::string before, after;
  std::string leaf_facts;  // dtypes and bounds of the leaves of `before`, such as "data1 int, v2 -5..6"
  std::string verdict;  // such as "proven, finite" (the float sense), "unknown: REASON" or "structural" (no value)
};

struct LiveRuleProof {
  std::string rule_location;       // file and line of the rule in tinygrad, such as "uop/symbolic.py:113"
  std::string function_name = {};  // name of the rule's function; empty if it is a lambda
  // The first of these verdicts that applies to the instances for which there was time:
  //   no instance  no instance could be made
  //   structural   no instance has sides that are compared as values
  //   refuted      an instance is wrong: REF computes different values, or only its right side is undefined
  //   unknown      an instance is undecided, or the proof failed
  //   conditional  an instance is wrong, but not where `condition` holds
  //   sampled      an instance is not proven, but equal at sample points
  //   proven       the sides with unknown values in place of all operands are proven, too
  //   instances    none of the above: the instances are proven
  std::string verdict;
  bool has_value_root = false;  // the root of the pattern is an operation on values
  // if `verdict` is "proven": number of proven pairs of sides with unknown values for operands and captured constants
  size_t num_general_proofs = 0;
  bool has_ignored_fp8 = false;  // pairs with fp8 dtypes could not be proven, and the verdict ignores these pairs
  std::string missing_cases = {};
  // For a rule that is neither proven nor refuted: lines of its file, such as "66-70,75", that no instance runs and
  // about which the verdict says nothing.
  std::string unreached_lines = {};
  bool has_double_rounding = false;  // the rule converts integer constants to floats via doubles, which rounds twice
  bool has_context = false;  // the function reads a context or tags, on which the meaning of the sides may depend
  size_t num_instances = 0, num_proven = 0;  // numbers of instances whose sides were compared, and that are proven
  size_t num_untried = 0;  // number of instances for which there was no time
  bool has_floats = false;
  FloatSense sense = FloatSense::Uninterpreted;
  std::string condition = {};
  std::string before = {}, after = {}, reason = {};
  std::map<std::string, std::string> counterexample = {};
  std::vector<std::string> before_nodes = {}, after_nodes = {};  // the sides' nodes, with values at the counterexample
  // Values, such as a NaN, for which the sides of an instance differ, although this does not refute the rule.
  std::map<std::string, std::string> special_counterexample = {};
  // Like special_counterexample, but only the sign of a zero differs.
  std::map<std::string, std::string> zero_sign_inputs = {};
  // An instance: its left side in tgc's JSON, with tinygrad's ops, and a point at which its sides differ.
  using ShownInstance = std::pair<std::string, std::map<std::string, std::string>>;
  std::vector<ShownInstance> refuted_instances = {}, conditional_instances = {};
  ShownProgram program = {};  // with --program: a program that shows the value of a wrong or conditional instance
  std::vector<LiveInstance> all_instances = {};
};

struct LiveRuleOptions {
  // called before each rule, with its location, its number from 1, and the number of all rules
  std::function<void(const std::string&, size_t, size_t)> on_begin = {};
  std::function<void(LiveRuleProof&)> on_rule = {};
  std::function<bool()> should_stop = {};            // prove_live_rules() fails soon after this returns true
  // time limit for one rule, 0 for no limit; unset: 30 seconds of processor time
  std::optional<double> limit_seconds = {};
  size_t max_refuted = 1;  // number of refuted instances after which the search in a rule ends
  bool lists_instances = false;
};

// Returns the verdict of each rule of a recording that `tinygrad_export.py --rules` wrote. Throws Failure if the
// recording cannot be read, or if options.should_stop returns true.
std::vector<LiveRuleProof> prove_live_rules(const InputGraph& in, ProofCache& cache, const LiveRuleOptions& options);

// Returns the exporter's message about a requested place without rules; "" if the recording has none.
std::string missing_rules_error(const InputGraph& in);

// Returns the verdict of one rule as text.
std::string live_rule_text(const LiveRuleProof& rule);
std::string live_rules_summary(const std::vector<LiveRuleProof>& all);
std::string live_rules_json(const std::vector<LiveRuleProof>& all);
std::string live_rules_table(const std::vector<LiveRuleProof>& all, const std::string& producer);

}  // namespace tgc
