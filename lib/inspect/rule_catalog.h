// Every rule set of the pipeline under tinygrad's name for it, with the stages that use it: what `tgc patterns` and `tgc stats` list, and
// what scripts/rule-counts compares with tinygrad's PatternMatchers. A new set is one row of rule_catalog.cpp.
#pragma once
#include <string>
#include <string_view>
#include <vector>

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
  std::vector<std::string_view> stages;  // whose rule sets hold it, on some target and under some settings; or that try it inside a rule
};

// Every rule once, in the order of the catalog.
std::vector<CatalogRule> catalog_rules();
// The rules of one set, in the order in which they are tried.
std::vector<CatalogRule> catalog_rules(const RuleSet& set);

// How many rules each stage has on each target with default settings: (stage, target, rules). A stage of tensor graphs has no target.
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
// {"rules":[{"name","set","stages","ops","pattern","result","file","line"}],"sets":[{"name","rules"}],"stages":[{"name","target","rules"}]}
std::string patterns_json(const std::vector<CatalogRule>& rules, const PatternListing& listing);

}  // namespace tgc
