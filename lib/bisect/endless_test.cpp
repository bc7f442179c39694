#include <doctest/doctest.h>

#include "lib/bisect/strategies.h"
#include "lib/rewrite/testing.h"

namespace tgc {
namespace {

using namespace pat;

// Rewrites a graph endlessly with `rules`, and returns the names of the rules in one cycle.
std::vector<std::string> cycle_of(const RuleSet& rules) {
  Graph g;
  UOp a = g.variable("a", 0, 9), b = g.variable("b", 0, 9);
  RewriteLog log;
  set_observer(g, &log);
  CHECK_FALSE(catch_failures([&] { return graph_rewrite(a + b, rules); }));
  std::vector<std::string> out;
  for (const Rewrite& t : last_rewrite_cycle(log.all_rewrites())) out.emplace_back(t.rule->name);
  set_observer(g, nullptr);
  return out;
}

}  // namespace

TEST_CASE("last_cycle: returns two rules that undo each other") {
  static const RuleSet set("test", {rule("there", x + y, x * y), rule("and-back", x * y, x + y)});
  std::vector<std::string> cycle = cycle_of(set);
  std::ranges::sort(cycle);
  CHECK(cycle == std::vector<std::string>{"and-back", "there"});
}

}  // namespace tgc
