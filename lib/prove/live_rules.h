// Proves the rules of a running tinygrad: instances that tgc.export.rules makes of each pattern, and what that tinygrad
// makes of them.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "lib/compilation/input_graph.h"
#include "lib/prove/prove_sides.h"

namespace tgc {

struct LiveRuleProof {
  std::string place;  // file and line in tinygrad: "uop/symbolic.py:113"
  // "proven": each instance, and the pattern binds no constant; "instances": each instance; "refuted": REF computes
  // other values for an instance; "unknown": neither; "structural": no instance is a value
  std::string verdict;
  size_t instances = 0, proven = 0;
  bool has_floats = false;
  FloatSense sense = FloatSense::Uninterpreted;
  std::string before = {}, after = {}, why = {};  // of an instance that is not proven
  std::map<std::string, std::string> counterexample = {};
};

// Decides the rules of a recording that `tinygrad_export.py --rules` wrote.
std::vector<LiveRuleProof> prove_live_rules(const InputGraph& in, ProofCache& cache);

// Return the verdicts as text, as JSON and as a table of a Markdown file.
std::string live_rules_text(const std::vector<LiveRuleProof>& all);
std::string live_rules_json(const std::vector<LiveRuleProof>& all);
std::string live_rules_table(const std::vector<LiveRuleProof>& all, const std::string& producer);

}  // namespace tgc
