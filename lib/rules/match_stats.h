// Match statistics of rules, as TRACK_MATCH_STATS=1 prints them: attempts, hits and time.
#pragma once
#include <string>
#include <vector>

#include "lib/rewrite/rewrite.h"
#include "lib/rewrite/stats.h"

namespace tgc {

// While this object lives, counts the rewrites of a graph.
class StatsWatch : public RewriteObserver {
 public:
  StatsWatch(Graph& graph, RuleStats& into) : graph_(graph) {
    stats = &into;
    counts_only = true;
    set_observer(graph, this);
  }
  ~StatsWatch() override { set_observer(graph_, nullptr); }
  StatsWatch(const StatsWatch&) = delete;
  StatsWatch& operator=(const StatsWatch&) = delete;

 private:
  Graph& graph_;
};

// Formats the statistics that RuleStats::by_rule() returns: one line per rule that was tried, the slowest rule last,
// then the total, then the numbers of tried rules and of rules that hit. The line of a rule is:
//   hits / attempts -- ms in hits / ms in all attempts -- file:line  name: left -> right  (file:line in tinygrad)
// The line of a rule with several branches (foldings) is followed by the hits of each branch.
std::string stats_text(const std::vector<RuleCounters>& stats);
// Lists the rules of `sets` that never hit, one per line.
std::string never_hit_text(const std::vector<RuleCounters>& stats, const std::vector<const RuleSet*>& sets);
// Returns {"rules":[{"name","set","file","line","tinygrad","hits","attempts","match_ms","total_ms",
//                    "branches":{name: hits}}],"total":{...}}
// The rules of `sets` that were never tried come last. "tinygrad" is the rule's file and line in tinygrad.
std::string stats_json(const std::vector<RuleCounters>& stats, const std::vector<const RuleSet*>& sets);

}  // namespace tgc
