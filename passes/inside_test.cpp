// Rewrites inside a stage are named, and use the rule sets that the stage's row names: the goldens of testdata/.
#include <set>

#include "passes/golden_cases.h"

namespace tgc {
namespace {

// Every rewrite of a run: where it began, and by which rule set.
struct Listener : RewriteObserver {
  std::string_view stage;
  const RuleSet* own = nullptr;  // the stage's
  std::span<const RuleSetFunction> inside;
  std::set<std::string> missing, seen;

  void begin(std::string_view name, UOp, const RuleSet& rules, bool) override {
    if (name.empty())
      missing.insert(std::string(stage) + ": a rewrite by " + std::string(rules.name()) + " has no name");
    if (&rules == own) return;
    bool known = std::ranges::any_of(inside, [&](RuleSetFunction set) { return &set() == &rules; });
    std::string what = std::string(stage) + ": " + std::string(name) + " by " + std::string(rules.name());
    (known ? seen : missing).insert(what);
  }
};

template <class Job>
void run_all(std::span<const StageOf<Job>> stages, Job& job, UOp sink, Listener& listener) {
  for (auto& stage : stages) {
    if (stage.applies && !stage.applies(job)) continue;
    listener.stage = stage.name;
    listener.own = stage.rules ? stage.rules(job) : nullptr;
    listener.inside = stage.inside;
    auto result = run_stage(stage, job, sink);
    if (!result) return;  // what tinygrad refuses, too
    sink = *result;
  }
}

TEST_CASE("rewrites inside a stage have a name, and the stage's row lists their rule sets") {
  Listener listener;
  for (const Case& c : all_cases()) {
    Graph graph(c.settings);
    auto ast = read_pyrender(graph, c.record.ast, c.record.id);
    REQUIRE(ast);
    set_observer(graph, &listener);
    if (c.record.target.empty()) {
      TensorJob job(graph);
      run_all(tensor_stages(), job, *ast, listener);
    } else {
      auto target = parse_target(c.record.target, c.settings);
      REQUIRE(target);
      KernelJob job{graph, *target};
      run_all(kernel_stages(), job, begin_kernel(job, *ast), listener);
    }
  }
  std::string missing;
  for (const std::string& line : listener.missing) missing += "\n  " + line;
  INFO("not in the stage's row:" << missing);
  CHECK(listener.missing.empty());
  for (const char* line : {"apply rangeify: reshape by reshape", "apply rangeify: minimum_valid by symbolic",
                           "apply opts: shift by substitute", "simplify ranges: check_merge by check_merge"})
    CHECK_MESSAGE(listener.seen.contains(line), line);
}

}  // namespace
}  // namespace tgc
