// Returns what `tgc prove --rules` found for a rule, for `tgc patterns` and `tgc bisect`. `scripts/tools/rule_verdicts`
// generates the table, rule_verdicts.def, and testdata/rule_verdicts.md, which has the counterexamples.
#pragma once
#include <string_view>

#include "lib/rewrite/rules.h"

namespace tgc {

// Returns "proven", "conditional", "refuted", "instances", "structural" or "unknown"; empty if the rule is not in the
// table, as the rules of lib/spec, which rewrite nothing.
std::string_view verdict_of(const Rule& rule);

// Returns whether REF computed different values for the two sides of an instance of the rule.
inline bool has_counterexample(const Rule& rule) {
  std::string_view verdict = verdict_of(rule);
  return verdict == "refuted" || verdict == "conditional";
}

}  // namespace tgc
