// Checks on the goldens that nested rewrites have a name and use only rule sets that the stage's row lists as `inside`.
#include <set>

#include "passes/golden_cases.h"

namespace tgc {
namespace {

// Records every rewrite of a run as "stage: rewrite by rule set".
struct Listener : RewriteObserver {
  std::string_view stage;
  const RuleSet* own = nullptr;  // the rule set of the stage itself
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
    if (!result) return;  // tinygrad refuses this graph too
    sink = *result;
  }
}

TEST_CASE("nested rewrites have a name, and the stage's row lists their rule sets") {
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
