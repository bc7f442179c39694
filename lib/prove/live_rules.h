// Proves the rules of a running tinygrad: instances that tgc.export.rules makes of each pattern, and what that tinygrad
// makes of them.
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

// One instance of a rule, for --list-instances.
struct LiveInstance {
  std::string before, after;  // expressions
  std::string leaves;  // dtypes and bounds of what `before` reads: "data1 int32, v2 -5..6"
  std::string verdict;  // "proven", with its float sense; "sampled", "refuted", "unknown", or "structural": no value
};

struct LiveRuleProof {
  std::string place;  // file and line in tinygrad: "uop/symbolic.py:113"
  std::string function = {};  // name of the rule's function; empty: a lambda
  // "proven": all instances, and the sides with unknown values for all operands; "instances": all instances;
  // "conditional": REF computes other values for an instance, but not where `condition` holds; "sampled": all
  // instances, some only at sample points; "refuted": REF computes other values for an instance; "unknown": none of
  // these; "structural": no instance is a value; "no instance": none could be made
  std::string verdict;
  bool is_of_values = false;  // the root of the pattern is an operation on values
  size_t general = 0;  // proven pairs of sides with unknown values in place of all operands and captured constants
  bool without_fp8 = false;  // pairs on floats of 8 bits are not proven, and are not part of the verdict
  std::string limit = {};  // if all instances are proven, and the rule is not: why it is not proven for all operands
  bool has_context = false;  // the function reads a context or tags, so both sides may mean other things
  size_t instances = 0, proven = 0;
  size_t untried = 0;  // instances for which there was no time
  bool has_floats = false;
  FloatSense sense = FloatSense::Uninterpreted;
  std::string condition = {};
  std::string before = {}, after = {}, why = {};  // an instance that is not proven: both sides, and the reason
  std::map<std::string, std::string> counterexample = {};
  std::vector<std::string> before_nodes = {}, after_nodes = {};  // nodes of both sides with their values there
  // values, among them NaN and infinities, at which the sides of an instance differ that is proven in a weak sense
  std::map<std::string, std::string> special = {};
  std::map<std::string, std::string> zeros = {};  // values at which only the sign of a zero differs
  // Instances in tgc's JSON, with the ops of that tinygrad, and values at which their sides differ: those that are
  // refuted, and those that need the condition.
  using Shown = std::pair<std::string, std::map<std::string, std::string>>;
  std::vector<Shown> wrong = {}, conditional = {};
  ShownProgram program = {};  // with --program: a program that shows the value of a wrong or conditional instance
  std::vector<LiveInstance> list = {};  // if they are asked for
};

struct LiveRuleOptions {
  std::function<void(LiveRuleProof&)> on_rule;  // called after each rule
  std::optional<double> seconds = {};  // time limit for one rule; 0: none; unset: 30 seconds of processor time
  size_t most_wrong = 1;  // number of refuted instances to find of a rule
  bool lists_instances = false;
};

// Returns the verdict of each rule of a recording that `tinygrad_export.py --rules` wrote.
std::vector<LiveRuleProof> prove_live_rules(const InputGraph& in, ProofCache& cache, const LiveRuleOptions& options);

// Returns why a recording of rules has none: the message names the rules that are nearest to the wanted place.
std::string why_no_rules(const InputGraph& in);

// Return one verdict, and the counts of all, as text.
std::string live_rule_text(const LiveRuleProof& rule);
std::string live_rules_summary(const std::vector<LiveRuleProof>& all);
// Return the verdicts as JSON and as a table of a Markdown file.
std::string live_rules_json(const std::vector<LiveRuleProof>& all);
std::string live_rules_table(const std::vector<LiveRuleProof>& all, const std::string& producer);

}  // namespace tgc
