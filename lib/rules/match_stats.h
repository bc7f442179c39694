// Match statistics of rules: how often each was tried and hit, and how long that took, as TRACK_MATCH_STATS=1 prints
// it.
#pragma once
#include <string>
#include <vector>

#include "lib/rewrite/rewrite.h"
#include "lib/rewrite/stats.h"

namespace tgc {

// Counts everything that is rewritten in a graph while it lives.
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

// What follows takes RuleStats::by_rule().
// A line per rule that was tried, the slowest last, then TOTAL, then how many rules there are and how many hit:
//   hits / attempts -- ms in matches / ms in all -- file:line  name: left -> right  (place in tinygrad)
// Below a rule with several foldings follow the hits of each of them that applied.
std::string stats_text(const std::vector<RuleCounters>& stats);
// The rules of `sets` that never hit, one a line.
std::string never_hit_text(const std::vector<RuleCounters>& stats, const std::vector<const RuleSet*>& sets);
// {"rules":[{"name","set","file","line","tinygrad","hits","attempts","match_ms","total_ms","branches":{name: hits}}],
//  "total":{...}}; the rules of `sets` that were never tried last. "tinygrad" is the rule's place there.
std::string stats_json(const std::vector<RuleCounters>& stats, const std::vector<const RuleSet*>& sets);

}  // namespace tgc
