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
  // the stages that apply the rule on some target under some settings, in their own rewrites or in an inner rewrite
  std::vector<std::string_view> stages;
  // in the list of one stage: the rule set of the inner rewrite that has the rule; empty if the stage's own set has it
  std::string_view inside = {};
};

// Returns every rule once, in the order of the catalog.
std::vector<CatalogRule> catalog_rules();
// Returns the rules of a stage, each once: the rules of `set` (may be null) in the order in which they are tried, then
// the rules of `inside`, the sets of the rewrites that rules start.
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
// "tinygrad" the rule's line in tinygrad. "branches" are the rule's foldings: most rules have one, which has no name.
// A folding has no right side if a C++ function computes its result. "inside" is set only in the list of one stage,
// for rules of inner rewrites.
std::string patterns_json(const std::vector<CatalogRule>& rules, const PatternListing& listing);

}  // namespace tgc
