// A rewrite that does not end, or whose graph is only deep.
#pragma once
#include <unordered_map>
#include <vector>

#include "lib/bisect/failure_repro.h"
#include "lib/bisect/rewrite_bisect.h"

namespace tgc {

// Notes what nodes become in a rewrite whose nodes wait for each other, so that none gets a result.
class CircleLog : public ApplicationLog {
 public:
  using ApplicationLog::begin, ApplicationLog::end;
  void begin(std::string_view name, UOp input, const RuleSet& rules, bool bottom_up) override;
  void end(std::string_view name, UOp result) override;
  void rewritten(const Hit& hit, UOp before, UOp after, Cost cost) override;
  void rebuilt(UOp before, UOp after) override;

  // The applications on a way from a node back to itself, over what nodes became, or else their sources, in the order
  // of the trace. Empty: there is no such way.
  std::vector<Application> circle() const;

 private:
  struct Became {
    UOp node;
    size_t place;  // of the application in the list, from 1; 0: it has other sources
  };
  using Changes = std::unordered_map<UOp, Became>;
  std::vector<Changes> open_;  // of the rewrites that have begun
  Changes given_up_;           // of the innermost that had no result
};

// The rewrites of one turn, the last one: back to where the node that it rewrites was rewritten before; of nodes that
// grow, the shortest list of rules that the end of the trace repeats three times.
std::span<const Application> last_turn(std::span<const Application> all);

// Whether `refused` says that a rewrite does not end. With a higher REWRITE_STACK_LIMIT it may: then its graph is only
// deep, and the report says how deep and where. Else it names the cycle: the rules that take turns, with their graphs.
bool blame_endless(FailureRepro& run, RewriteBlame& rewrites, const Outcome& refused, BisectReport& report);

}  // namespace tgc
