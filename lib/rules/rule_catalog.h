// The rule sets of tgc, and the stages that use each rule. To add a rule set, add a row to rule_catalog.cpp.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "lib/rewrite/rules.h"
#include "passes/pipeline.h"

namespace tgc {

struct CatalogRuleSet {
  std::string_view name;
  const RuleSet* rule_set;
};

// Returns the rule sets of the pipeline and of lib/spec that have a name: tinygrad's name or, for the two rule sets of
// image buffers, a name of tgc.
const std::vector<CatalogRuleSet>& rule_catalog();

struct CatalogRule {
  const Rule* rule;
  // the stages that have the rule, also in a nested rule set, on at least one target, with default settings or with one
  // of kSettingsVariants in rule_catalog.cpp; also "linear" for the rules of pm_split_ends
  std::vector<std::string_view> stages;
  // in the result of catalog_rules(set, inside): the name of the set in `inside` that has the rule; empty for a rule of
  // `set`, and in the results of other functions
  std::string_view nested_set_name = {};
};

std::vector<CatalogRule> catalog_rules();
// Returns the rules of a stage, each once: first the rules of `set` (unless null) in the order in which they are tried,
// then the rules of `inside`, the sets with which the stage's function or rules start graph rewrites.
std::vector<CatalogRule> catalog_rules(const RuleSet* set, std::span<const RuleSetFunction> inside = {});

// The number of rules that a stage has on a target with default settings. `target` is empty for tensor graph stages.
struct StageRuleCount {
  std::string_view stage, target;
  size_t num_rules;
};
std::vector<StageRuleCount> count_stage_rules();

struct PatternListOptions {
  OpSet ops;            // list only rules with one of these ops at their root; if empty, list all rules
  bool uses_color = false;
};
// Lists the rules under the names of their sets, one per line:
//   name   left -> right   root ops   file:line (file:line in tinygrad)   verdict of `tgc prove --rules`   [stages]
std::string patterns_text(const std::vector<CatalogRule>& rules, const PatternListOptions& listing);
// Returns the rules as JSON:
//   {"rules":[{"name","set","stages","ops","pattern","result","kind","branches":[{"name","right","guard"}],
//              "file","line","tinygrad","verdict","inside"}],
//    "sets":[{"name","rules"}],"stages":[{"name","target","rules"}]}
// "pattern" is the left side, "result" the whole right side, "kind" the kind of right side ("algebra", "function" or
// "lambda"), and "tinygrad" the rule's file and line in tinygrad. "branches" are the rule's foldings: most rules have
// one, without a name. "right" is empty if the rule's C++ function chooses the folding. "inside" is the rule's nested
// set, and missing if there is none.
std::string patterns_json(const std::vector<CatalogRule>& rules, const PatternListOptions& listing);

// Returns what `tgc prove --rules` found for a rule: "proven", "conditional", "refuted", "instances", "structural" or
// "unknown"; "" for a rule that is not in the table rule_verdicts.def, such as the rules of lib/spec.
std::string_view rule_verdict(const Rule& rule);

// Returns true if REF computed different values for the two sides of an instance of the rule.
inline bool has_counterexample(const Rule& rule) {
  std::string_view verdict = rule_verdict(rule);
  return verdict == "refuted" || verdict == "conditional";
}

}  // namespace tgc
