#include <set>

#include "lib/compilation/golden_cases_testing.h"

namespace tgc {
namespace {

struct NestedRewrites : RewriteObserver, StageObserver {
  Compilation* compilation = nullptr;
  std::string_view stage_name;
  const RuleSet* own = nullptr;
  std::span<const RuleSetFunction> inside;
  std::set<std::string> missing, seen;

  void begin_stage(const StageRow& row, UOp) override {
    stage_name = row.name;
    own = rules_of_row(row, compilation->target(), compilation->graph());
    inside = row.kernel   ? row.kernel->nested_rule_sets
             : row.tensor ? row.tensor->nested_rule_sets
                          : std::span<const RuleSetFunction>();
  }
  void begin_rewrite(std::string_view name, UOp, const RuleSet& rules, bool) override {
    if (name.empty())
      missing.insert(std::string(stage_name) + ": a rewrite by " + std::string(rules.name()) + " has no name");
    if (&rules == own) return;
    bool known = std::ranges::any_of(inside, [&](RuleSetFunction set) { return &set() == &rules; });
    std::string what = std::string(stage_name) + ": " + std::string(name) + " by " + std::string(rules.name());
    (known ? seen : missing).insert(what);
  }
  using StageObserver::begin_compilation;
};

TEST_CASE("rewrites inside a stage have a name, and the stage's row lists their rule sets") {
  NestedRewrites rewrites;
  for (const GoldenCase& c : all_golden_cases()) {
    Compilation compilation = begin_golden_case(c, [&](Graph& graph) { set_observer(graph, &rewrites); });
    rewrites.compilation = &compilation;
    compilation.set_stage_observer(&rewrites);
    // tinygrad rejects a few of these kernels, and so does tgc
    while (compilation.next_row() && compilation.next_row()->is_graph_stage()) (void)compilation.run_step();
    compilation.set_stage_observer(nullptr);
  }
  std::string missing;
  for (const std::string& line : rewrites.missing) missing += "\n  " + line;
  INFO("not in the stage's row:" << missing);
  CHECK(rewrites.missing.empty());
  for (const char* line : {"apply rangeify: reshape by reshape", "apply rangeify: minimum_valid by symbolic",
                           "simplify ranges: check_merge by check_merge"})
    CHECK_MESSAGE(rewrites.seen.contains(line), line);
  auto is_shift = [](const std::string& line) {
    return line.starts_with("apply opts: shift (") && line.ends_with(" by substitute");
  };
  CHECK(std::ranges::any_of(rewrites.seen, is_shift));
}

}  // namespace
}  // namespace tgc
