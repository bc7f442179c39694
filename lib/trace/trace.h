// Checks the events of a rewrite trace (lib/compilation/trace_events.h): the traced rewrites give the traced results.
#pragma once
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lib/compilation/replay_rewrites.h"
#include "lib/compilation/trace_events.h"

namespace tgc {

// Checks a trace: the traced rewrites, applied to the input of a graph_rewrite, must give the traced result.
class TraceReplay : public TraceConsumer {
 public:
  void begin(const TraceRewrite& rewrite, int depth, UOp input) override;
  void end(int depth, UOp result) override;
  void rewrite(int depth, const TraceRule& rule, UOp before, UOp after, TraceCost cost) override;
  void gated(int depth, UOp node) override;

  size_t same() const { return same_; }
  size_t different() const { return different_; }
  std::string text() const;  // returns the counts same() and different() as one line of text

 private:
  struct Pending {
    UOp input;
    bool bottom_up;
    std::vector<std::pair<UOp, UOp>> rewrites;
    std::vector<UOp> gates;
  };
  std::vector<Pending> pending_;  // by depth: the rewrites that have begun but not ended
  size_t same_ = 0, different_ = 0;
};

}  // namespace tgc
