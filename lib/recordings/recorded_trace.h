// Sends the recorded rewrites of one stage as trace events. A recording has the matches of rules in order, but neither
// the nodes that a rewrite only rebuilds with new sources, nor which nodes a rule made. RecordedTrace derives both.
#pragma once
#include <span>
#include <string_view>

#include "lib/text/recorded_rewrites.h"
#include "lib/trace/trace.h"

namespace tgc {

class RecordedTrace {
 public:
  // All nodes must be of `graph`. `to` gets numbers of nodes in the order in which the recording shows that they exist.
  RecordedTrace(Graph& graph, TraceConsumer& to) : numbers_(graph), to_(to) { to_.set_numbers(&numbers_); }
  ~RecordedTrace() { to_.set_numbers(nullptr); }
  RecordedTrace(const RecordedTrace&) = delete;

  // Numbers the nodes under `root` that have no number yet.
  void add(UOp root);
  // Sends the stage `name`, which made `result` of `input`, with its matches.
  void stage(std::string_view name, UOp input, UOp result, std::span<const RecordedMatch> matches);

 private:
  class Rebuilder;

  void send(std::span<const RecordedMatch> matches, int level, int depth, Rebuilder* rebuilt);
  void send_rebuilt(Rebuilder& of, size_t behind);

  UOpMap<uint32_t> numbers_;
  uint32_t next_ = 0;
  TraceConsumer& to_;
};

}  // namespace tgc
