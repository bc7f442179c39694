// Lists every rule set of the pipeline under tinygrad's name, with the stages that use it, for `tgc patterns` and `tgc
// stats`. `scripts/rule_table.py counts` compares the list with tinygrad's PatternMatchers. To add a rule set, add a
// row to rule_catalog.cpp.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "lib/rewrite/rules.h"
#include "passes/pipeline.h"

namespace tgc {

struct CatalogSet {
  std::string_view name;   // tinygrad's name: "symbolic_simple", "ClangRenderer.extra_matcher"
  const RuleSet* set;
};

// Returns the rule sets in the order of the pipeline.
const std::vector<CatalogSet>& rule_catalog();

// A rule and its uses.
struct CatalogRule {
  const Rule* rule;
  // the stages that apply it, on any target and under any settings, directly or in a rewrite inside a rule
  std::vector<std::string_view> stages;
  // in the list of a stage: the set of the inner rewrite that applies the rule; empty: the stage applies it
  std::string_view inside = {};
};

// Returns every rule once, in the order of the catalog.
std::vector<CatalogRule> catalog_rules();
// Returns the rules of a stage: those of `set` (may be null) in the order in which they are tried, then those of the
// rewrites inside rules, each rule once.
std::vector<CatalogRule> catalog_rules(const RuleSet* set, std::span<const RuleSetFunction> inside = {});

// The number of rules of a stage on a target with default settings. Stages of tensor graphs have no target.
struct StageCount {
  std::string_view stage, target;
  size_t rules;
};
std::vector<StageCount> stage_rule_counts();

struct PatternListing {
  OpSet ops;            // list only rules with one of these ops at their root; empty: list all
  bool color = false;
};
// Lists the rules under the names of their sets, one per line:
//   name   left -> right   file:line   root ops   [stages]
std::string patterns_text(const std::vector<CatalogRule>& rules, const PatternListing& listing);
// Returns the rules as JSON:
//   {"rules":[{"name","set","stages","ops","pattern","result","kind","branches":[{"name","right","guard"}],
//              "file","line","tinygrad","inside"}],"sets":[{"name","rules"}],"stages":[{"name","target","rules"}]}
// "pattern" is the left side, "result" the whole right side, "kind" is "algebra", "function" or "lambda", and
// "tinygrad" the rule's place in tinygrad. "branches" are the rule's foldings; most rules have one without a name.
// Foldings that a function distinguishes have no right side. "inside" is only set in the list of a stage, for rules of
// inner rewrites.
std::string patterns_json(const std::vector<CatalogRule>& rules, const PatternListing& listing);

}  // namespace tgc
