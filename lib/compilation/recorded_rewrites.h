// Reads the rewrites that `tinygrad_export.py --rewrites` recorded, and sends them as trace events. The format is JSON:
// {"nodes":[...],"list":[[stage,place,before,after,depth],...],"texts":{place: text,...}}. `stage` is an index into the
// record's stages, or their number for a rewrite after the last stage. `place` is the file and line of the rule in
// tinygrad or, for a stage's substitution, of its call. `before` and `after` are indices into "nodes", which has nodes
// in the graph JSON format. `depth` is the number of rules that were running; older recordings lack it. "texts" has the
// source lines at the places.
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "lib/compilation/rewrite_log.h"
#include "lib/compilation/trace_events.h"
#include "lib/records/golden.h"

namespace tgc {

class RewriteRebuilder;

// Returns the row of stage `index` of the record.
const StageRow& row_of_recorded_stage(const GoldenRecord& record, size_t index);

// Parses the rewrites of `record`, and makes their nodes in `graph`. `producer` is the tinygrad release that made the
// recording; `file` is the file's name in messages. Fails if the text of the rewrites is malformed.
Result<std::vector<Rewrite>> read_rewrites(Graph& graph, const GoldenRecord& record, std::string_view producer,
                                           std::string_view file);

// Returns the rewrites of each stage of `record`. `rewrites` are those that read_rewrites() returned.
std::vector<std::span<const Rewrite>> split_by_stage(const GoldenRecord& record, std::span<const Rewrite> rewrites);

// Sets Rewrite::is_discarded of the rewrites of one stage that tinygrad certainly discarded: all, if the stage changed
// nothing; else those after its last own rewrite, nested in rules that then declined. Sets none if `result` is empty,
// that is, unknown.
void mark_discarded(std::span<Rewrite> rewrites, UOp input, UOp result);

// Sends the recorded rewrites of stages as trace events. A recording has the matches of rules in order.
// RecordedTraceSender derives the nodes that a graph rewrite only rebuilds with new sources, and which nodes a rule
// made.
class RecordedTraceSender {
 public:
  // Nodes of `graph` are numbered for `to` in the order in which they first appear in the recording.
  RecordedTraceSender(Graph& graph, TraceConsumer& to) : node_numbers_(graph), trace_consumer_(to) {
    to.set_node_numbers(&node_numbers_);
  }
  ~RecordedTraceSender() { trace_consumer_.set_node_numbers(nullptr); }
  RecordedTraceSender(const RecordedTraceSender&) = delete;

  void assign_node_numbers(UOp root);
  // Sends the stage `name`, which made `result` from `input`, with its rewrites. If `wanted` is false, only numbers the
  // nodes, so that a node has the same number whichever stages are sent.
  void send_stage(std::string_view name, UOp input, UOp result, std::span<const Rewrite> rewrites, bool wanted = true);

 private:
  void send_rewrites(std::span<const Rewrite> rewrites, int depth, RewriteRebuilder& rebuilt);
  void send_rebuilt_nodes(const RewriteRebuilder& of, size_t behind, int depth);

  UOpMap<uint32_t> node_numbers_;
  uint32_t next_number_ = 0;
  TraceConsumer& trace_consumer_;
  TraceConsumer null_consumer_;
  TraceConsumer* stage_consumer_ = nullptr;
};

}  // namespace tgc
