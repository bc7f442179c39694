// Cycles in rewrites that do not end; the strategy itself is find_endless_rewrite() in strategies.h.
#pragma once
#include <unordered_map>
#include <vector>

#include "lib/trace/applications.h"

namespace tgc {

// Records what nodes become in a rewrite whose nodes wait for each other's results, so that none gets one.
class WaitCycleLog : public ApplicationLog {
 public:
  using ApplicationLog::begin, ApplicationLog::end;
  void begin(std::string_view name, UOp input, const RuleSet& rules, bool bottom_up) override;
  void end(std::string_view name, UOp result) override;
  void rewritten(const Hit& hit, UOp before, UOp after, Cost cost) override;
  void rebuilt(UOp before, UOp after) override;

  // Returns the applications on a path from a node back to itself, in the order of the log. The path follows what nodes
  // became, or their sources if they were not rewritten. Empty if there is no such path.
  std::vector<Application> cycle() const;

 private:
  struct Became {
    UOp node;
    size_t position;  // of the application in the list, from 1; 0 if only the node's sources changed
  };
  using Changes = std::unordered_map<UOp, Became>;
  std::vector<Changes> open_;  // of the rewrites in progress
  Changes unfinished_;         // of the innermost rewrite without a result
};

// Returns the last cycle of a log: the applications since the last node was rewritten before. If nodes only grow,
// returns the shortest sequence of rules that the end of the log repeats three times.
std::span<const Application> last_cycle(std::span<const Application> all);

}  // namespace tgc
