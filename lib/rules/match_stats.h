// Statistics of rules, as tinygrad's TRACK_MATCH_STATS=1 prints them: attempts, hits and time per rule.
#pragma once
#include <string>
#include <vector>

#include "lib/compilation/watchers.h"

namespace tgc {

// Formats the statistics: one line per rule that was tried, by ascending time in all attempts; the total; the number of
// rules that were tried and of rules that hit. The line of a rule is:
//   hits / attempts -- ms in hits / ms in all attempts -- file:line  name: left -> right  (file:line in tinygrad)
// A line with the hits of each named branch (folding) of the rule that hit follows. Here and below, only rules with one
// of `ops` at their root are listed; an empty set lists all.
std::string stats_text(const std::vector<RuleCounters>& stats, OpSet ops = {});
// Lists the rules of `sets` that never hit, one per line.
std::string never_hit_text(const std::vector<RuleCounters>& stats, const std::vector<const RuleSet*>& sets,
                           OpSet ops = {});
// Returns the statistics as JSON:
//   {"rules":[{"name","set","file","line","tinygrad","hits","attempts","match_ms","total_ms","branches"}],"total":{}}
// "tinygrad" is the rule's file and line in tinygrad. The rules of `sets` that were never tried come last.
std::string stats_json(const std::vector<RuleCounters>& stats, const std::vector<const RuleSet*>& sets,
                       OpSet ops = {});

}  // namespace tgc
