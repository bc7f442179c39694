#include "lib/rules/rule_verdicts.h"

#include <doctest/doctest.h>

#include <set>

#include "lib/rules/rule_catalog.h"

namespace tgc {
namespace {

TEST_CASE("rule_verdicts: every rule that rewrites has a verdict, and the rules of lib/spec have none") {
  const std::set<std::string_view> known{"proven", "conditional", "refuted", "instances", "structural", "unknown"};
  size_t rewrites = 0, checks = 0;
  for (const CatalogRule& r : catalog_rules()) {
    INFO(describe(*r.rule));
    const bool is_check = short_file(*r.rule).starts_with("lib/spec/");
    (is_check ? checks : rewrites)++;
    if (is_check) CHECK(verdict_of(*r.rule).empty());
    else CHECK(known.contains(verdict_of(*r.rule)));
  }
  CHECK(rewrites > 380);
  CHECK(checks > 80);
}

TEST_CASE("rule_verdicts: rules of one name have their own verdicts") {
  for (const CatalogRule& r : catalog_rules()) {
    if (r.rule->name == "gather-consts" && r.rule->left->ops == OpSet{Op::AND}) CHECK(verdict_of(*r.rule) == "proven");
    if (r.rule->name == "mul-bool") CHECK(!has_counterexample(*r.rule));
  }
}

}  // namespace
}  // namespace tgc
