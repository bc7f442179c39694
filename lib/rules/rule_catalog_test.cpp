#include <doctest/doctest.h>
#include <map>
#include <set>

#include "lib/compilation/rule_sources.h"
#include "lib/compilation/stage_rows.h"
#include "lib/rules/rule_catalog.h"
#include "lib/support/testing.h"

namespace tgc {

namespace {

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> out;
  for (size_t at = 0; (at = line.find("| ", at)) != line.npos; at++) {
    size_t begin = at + 2, end = line.find(" |", begin - 1);
    if (end == line.npos) break;
    out.push_back(begin > end ? "" : line.substr(begin, end - begin));
  }
  return out;
}

TEST_CASE("patterns: every rule has a name, a place and a stage that uses it, or is in a listed set") {
  auto rules = catalog_rules();
  CHECK(rules.size() > 500);
  for (const CatalogRule& r : rules) {
    CHECK(!r.rule->name.empty());
    CHECK(r.rule->line > 0);
    CHECK(short_file_name(*r.rule).find("/") != std::string_view::npos);
    CHECK(!r.rule->left->ops.empty());
  }
}

TEST_CASE("patterns: a named rule set has every rule that a stage applies, apart from those made for one target") {
  std::set<uint32_t> listed;
  for (const CatalogRuleSet& s : rule_catalog())
    for (const Rule* r : s.rule_set->rules()) listed.insert(r->rule_id);
  std::set<std::string> others;
  auto check_set = [&](const RuleSet& set) {
    for (const Rule* r : set.rules())
      if (!listed.contains(r->rule_id)) others.insert(std::string(r->name) + " " + std::string(short_file_name(*r)));
  };
  for (const StageRow& row : stage_rows()) {
    for (std::string_view name : known_targets()) {
      Graph graph;
      auto target = parse_target(name, graph.settings());
      REQUIRE(target);
      if (const RuleSet* set = rules_of_row(row, *target, graph)) check_set(*set);
    }
    std::span<const RuleSetFunction> inside;
    if (row.kernel) inside = row.kernel->nested_rule_sets;
    if (row.tensor) inside = row.tensor->nested_rule_sets;
    for (RuleSetFunction set : inside) check_set(set());
  }
  // tinygrad makes the rule set of the late decompositions for each target, so that the set has no name
  std::erase_if(others, [](const std::string& rule) { return rule.ends_with(" passes/kernel/decompositions.cpp"); });
  // the rest must be rules of sets that have no name in tinygrad, and of the set for gfx12, which is not listed
  CHECK(others == std::set<std::string>{"gate-substitute passes/tensor/remove_bufferize.cpp",
                                        "mark-movement passes/tensor/apply_rangeify.cpp",
                                        "remove-tag passes/kernel/optimizer/scheduler_opts.cpp",
                                        "wmma-rdna4-bf16-to-bf16 passes/kernel/renderer_rules/llvm.cpp",
                                        "wmma-rdna4-bf16-to-float passes/kernel/renderer_rules/llvm.cpp"});
}

TEST_CASE("patterns: the documented rule counts match the rule sets and explain differences from tinygrad") {
  std::map<std::string, std::string> sets;
  for (const CatalogRuleSet& s : rule_catalog()) sets[std::string(s.name)] = std::to_string(s.rule_set->rules().size());
  std::map<std::pair<std::string, std::string>, std::string> stages;
  for (const StageRuleCount& s : count_stage_rules())
    stages[{std::string(s.stage), std::string(s.target)}] = std::to_string(s.num_rules);
  bool by_stage = false;
  size_t rows = 0;
  for (const std::string& line : read_test_lines("rule_counts.md")) {
    by_stage |= line.starts_with("## Kernel stages");
    auto cells = cells_of(line);
    if (cells.size() < 4 || cells[0] == "matcher" || cells[0] == "stage") continue;
    INFO(line);
    rows++;
    const std::string &theirs = cells[by_stage ? 2 : 1], &ours = cells[by_stage ? 3 : 2],
                      why = cells.size() > (by_stage ? 4 : 3) ? cells.back() : "";
    if (theirs != ours) CHECK(why.find_first_not_of(' ') != why.npos);
    CHECK(why.find("unknown") == why.npos);
    if (by_stage) {
      CHECK(stages[{cells[0], cells[1]}] == ours);
    } else if (ours != "-") {
      CHECK(sets[cells[0]] == ours);
      sets.erase(cells[0]);
    }
  }
  CHECK(rows > 250);
  CHECK(sets.empty());  // the loop erased each set that the table names, so a remaining set is missing in the table
}

TEST_CASE("patterns: every rule has a place in tinygrad, and every place a rule") {
  std::set<std::pair<std::string_view, std::string_view>> rules;
  for (const CatalogRule& r : catalog_rules()) {
    INFO(describe(*r.rule));
    CHECK(tinygrad_source(*r.rule).find(".py:") != std::string_view::npos);
    rules.emplace(r.rule->rule_set_name, r.rule->name);
  }
  CHECK(num_tinygrad_sources() == rules.size());
}

TEST_CASE("patterns: three quarters of the symbolic rules, decompositions, index dtype and expander are algebra") {
  std::map<RightSideKind, size_t> count;
  for (const CatalogRule& r : catalog_rules()) {
    std::string_view file = short_file_name(*r.rule);
    bool counts = file.starts_with("passes/symbolic/");
    for (std::string_view name : {"decompositions.cpp", "index_dtype.cpp", "expander.cpp"})
      counts |= file == "passes/kernel/" + std::string(name);
    if (counts) count[right_side_kind(*r.rule)]++;
  }
  CHECK(count[RightSideKind::Algebra] * 4 >= (count[RightSideKind::Algebra] + count[RightSideKind::Function]) * 3);
  CHECK(count[RightSideKind::Lambda] == 0);
}

TEST_CASE("patterns: a rule with several foldings lists them") {
  auto rules = catalog_rules();
  std::string text = patterns_text(rules, {.ops = Op::OR}), json = patterns_json(rules, {.ops = Op::OR});
  CHECK(text.find("-> true: c when truthy(c) | false: x  OR") != text.npos);
  CHECK(json.find(R"j("kind":"algebra","branches":[{"name":"true","right":"c","guard":"truthy(c)"},)j"
                  R"j({"name":"false","right":"x","guard":""}])j") != json.npos);
}

TEST_CASE("patterns: rules are listed by op, as text and as JSON") {
  std::string text = patterns_text(catalog_rules(), {.ops = Op::UNROLL});
  CHECK(text.find("passes/kernel/expander.cpp:") != text.npos);
  CHECK(text.find("add-zero") == text.npos);
  std::string json = patterns_json(catalog_rules(), {.ops = Op::ADD});
  CHECK(json.find(R"j("name":"add-zero")j") != json.npos);
  CHECK(json.find(R"j("pattern":"(x + 0)","result":"x")j") != json.npos);
}

TEST_CASE("rule_verdicts: every rule that rewrites has a verdict, and the rules of lib/spec have none") {
  const std::set<std::string_view> known{"proven", "conditional", "refuted", "instances", "structural", "unknown"};
  size_t rewrites = 0, checks = 0;
  for (const CatalogRule& r : catalog_rules()) {
    INFO(describe(*r.rule));
    const bool is_check = short_file_name(*r.rule).starts_with("lib/spec/");
    (is_check ? checks : rewrites)++;
    if (is_check) CHECK(rule_verdict(*r.rule).empty());
    else CHECK(known.contains(rule_verdict(*r.rule)));
  }
  CHECK(rewrites > 380);
  CHECK(checks > 80);
}

TEST_CASE("rule_verdicts: rules of one name have their own verdicts") {
  for (const CatalogRule& r : catalog_rules()) {
    const bool is_and = r.rule->left->ops == OpSet{Op::AND};
    if (r.rule->name == "gather-consts" && is_and) CHECK(rule_verdict(*r.rule) == "proven");
    if (r.rule->name == "mul-bool") CHECK(!has_counterexample(*r.rule));
  }
}

}  // namespace

}  // namespace tgc
