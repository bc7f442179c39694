// Every rule set of the pipeline under tinygrad's name for it, with the stages that use it: what `tgc patterns` and
// `tgc stats` list, and what scripts/rule-counts compares with tinygrad's PatternMatchers. A new set is one row of
// rule_catalog.cpp.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "lib/rewrite/rules.h"
#include "passes/pipeline.h"

namespace tgc {

struct CatalogSet {
  std::string_view name;   // tinygrad's: "symbolic_simple", "ClangRenderer.extra_matcher"
  const RuleSet* set;
};

// The sets, in the order of the pipeline.
const std::vector<CatalogSet>& rule_catalog();

// A rule with what is known of its use.
struct CatalogRule {
  const Rule* rule;
  // whose rule sets hold it, on some target and under some settings; or that try it inside a rule
  std::vector<std::string_view> stages;
  // in a stage's list: the set of a rewrite inside the stage; empty: the stage's own
  std::string_view inside = {};
};

// Every rule once, in the order of the catalog.
std::vector<CatalogRule> catalog_rules();
// The rules of one set, if any, in the order in which they are tried; then those of the rewrites inside, each once.
std::vector<CatalogRule> catalog_rules(const RuleSet* set, std::span<const RuleSetFunction> inside = {});

// How many rules each stage has on each target with default settings: (stage, target, rules). A stage of tensor graphs
// has no target.
struct StageCount {
  std::string_view stage, target;
  size_t rules;
};
std::vector<StageCount> stage_rule_counts();

struct PatternListing {
  OpSet ops;            // only rules that have one of these at their root; empty: all
  bool color = false;
};
// "name   left -> right   file:line   root ops   [stages]", one rule a line, under its set's name.
std::string patterns_text(const std::vector<CatalogRule>& rules, const PatternListing& listing);
// {"rules":[{"name","set","stages","ops","pattern","result","kind","branches":[{"name","right","guard"}],"file","line",
//  "tinygrad","inside"}],"sets":[{"name","rules"}],"stages":[{"name","target","rules"}]};
//  "inside" only in a stage's list,
// of rules that a rewrite inside it applies. "pattern" is the left side, "result" all of the right side in a line,
// "kind" "algebra", "function" or "lambda", "tinygrad" the rule's place there. "branches" are its foldings: one without
// a name for most rules; those that a function tells apart have no right side of their own.
std::string patterns_json(const std::vector<CatalogRule>& rules, const PatternListing& listing);

}  // namespace tgc
