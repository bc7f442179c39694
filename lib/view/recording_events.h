// Writes the events of a recording as columns of numbers (README.md). Omits values that the reader,
// apps/tgc/view/events.js, can derive. The reader keeps the same state as this writer.
#pragma once
#include <map>
#include <unordered_map>
#include <vector>

#include "lib/support/json_writer.h"
#include "lib/view/recording.h"

namespace tgc {

class EventWriter {
 public:
  struct NodeTexts {
    int64_t dtype, arg, tag;
  };
  // `nodes` are the rows of the table, sources first; `numbers` maps node ids to rows. `ids` are the rows' numbers in
  // the trace, which increase.
  EventWriter(const std::vector<UOp>& nodes, const std::vector<int32_t>& numbers, const std::vector<uint32_t>& ids,
              const std::vector<NodeTexts>& texts);

  // Adds events in the order of the trace.
  void add_event(const RecordedEvent& event);
  // Returns true if the reader derives the row `node` from an event. Valid after the last add_event().
  bool is_derived(size_t node) const { return node_states_[node] == NodeState::Derived; }
  void write_events(JsonWriter& json) const;

 private:
  enum class NodeState : uint8_t { Unknown, Written, Derived };
  struct RewriteRun {
    int64_t input;
    std::unordered_map<int64_t, int64_t> replacements;
  };

  int64_t row_of_node(UOp u) const { return u ? node_rows_[u.id()] : -1; }
  int64_t first_row_from(int64_t id) const;
  int64_t resolved_node(int64_t node) const;
  void mark_written(int64_t node);
  void begin_rewrite(const RecordedEvent& e);
  void end_rewrite(const RecordedEvent& e);
  void add_rewrite(const RecordedEvent& e);
  void add_rebuilt_node(const RecordedEvent& e);
  bool can_derive(int64_t before, int64_t after) const;
  void record_replacement(int64_t before, int64_t after);

  const std::vector<UOp>& nodes_;
  const std::vector<int32_t>& node_rows_;
  const std::vector<uint32_t>& trace_numbers_;
  const std::vector<NodeTexts>& node_texts_;
  std::vector<NodeState> node_states_;
  std::vector<bool> has_ambiguous_hash_;  // another row has the same hash; such rows are never derived
  // The running graph rewrites. The first entry is for events outside of graph rewrites.
  std::vector<RewriteRun> open_runs_{{-1, {}}};
  std::unordered_map<int64_t, int64_t> last_result_rows_;  // by row: the result of the node's last rewrite
  int64_t previous_row_ = 0, made_end_ = 0, last_derived_ = -1;
  std::map<std::vector<int64_t>, int64_t> run_kinds_;
  std::vector<int64_t> event_kinds_, runs_, inputs_, results_, rules_, rewritten_nodes_, made_begins_, made_counts_,
      rewrite_results_;
  std::vector<int64_t> rebuilt_nodes_, rebuilt_results_, gated_nodes_;
};

}  // namespace tgc
