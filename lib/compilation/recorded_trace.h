// Sends the recorded rewrites of one stage as trace events. A recording has the matches of rules in order, but neither
// the nodes that a rewrite only rebuilds with new sources, nor which nodes a rule made. RecordedTrace derives both.
#pragma once
#include <span>
#include <string_view>

#include "lib/compilation/rewrite_log.h"
#include "lib/compilation/trace_events.h"

namespace tgc {

class RewriteRebuilder;

// Sets Rewrite::is_discarded of the rewrites of one stage, in their order, where it is certain. If the stage changed
// nothing, these are all rewrites; else those inside of the last rule that ran, if it declined.
void mark_discarded(std::span<Rewrite> rewrites, UOp input, UOp result);

class RecordedTrace {
 public:
  // All nodes must be of `graph`. `to` gets numbers of nodes in the order in which the recording shows that they exist.
  RecordedTrace(Graph& graph, TraceConsumer& to) : numbers_(graph), to_(to) { to_.set_numbers(&numbers_); }
  ~RecordedTrace() { to_.set_numbers(nullptr); }
  RecordedTrace(const RecordedTrace&) = delete;

  // Numbers the nodes under `root` that have no number yet.
  void add(UOp root);
  // Sends the stage `name`, which made `result` of `input`, with its rewrites.
  void stage(std::string_view name, UOp input, UOp result, std::span<const Rewrite> rewrites);

 private:
  void send(std::span<const Rewrite> rewrites, int level, int depth, RewriteRebuilder* rebuilt);
  void send_rebuilt(RewriteRebuilder& of, size_t behind);

  UOpMap<uint32_t> numbers_;
  uint32_t next_ = 0;
  TraceConsumer& to_;
};

}  // namespace tgc
