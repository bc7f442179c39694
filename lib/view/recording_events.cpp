#include "lib/view/recording_events.h"

#include <algorithm>
#include <utility>

namespace tgc {
namespace {

// Values of the column `kind`. The reader derives the results of kEnd and kRebuilt. The results of the last two kinds
// are written.
enum EventCode : int64_t { kBegin, kEnd, kRewrite, kRebuilt, kGated, kEndWithResult, kRebuiltWithResult };

// Returns the hash of a row. The reader derives no row whose hash another row has, too.
uint64_t hash_of_row(UOp u, const EventWriter::NodeTexts& t) {
  uint64_t hash = 0;
  auto add = [&](uint64_t v) { hash = (std::rotl(hash, 5) ^ v) * 0x9e3779b97f4a7c15ull; };
  add(uint64_t(u.op())), add(uint64_t(t.dtype)), add(uint64_t(t.arg)), add(uint64_t(t.tag));
  for (UOp s : u.src()) add(s.id());
  return hash;
}

// Zigzag encoding.
int64_t zigzag(int64_t n) { return n < 0 ? -2 * n - 1 : 2 * n; }

}  // namespace

EventWriter::EventWriter(const std::vector<UOp>& nodes, const std::vector<int32_t>& numbers,
                         const std::vector<uint32_t>& ids, const std::vector<NodeTexts>& texts)
    : nodes_(nodes),
      node_rows_(numbers),
      trace_numbers_(ids),
      node_texts_(texts),
      node_states_(nodes.size()),
      has_ambiguous_hash_(nodes.size()) {
  std::unordered_map<uint64_t, size_t> known;
  known.reserve(nodes.size());
  for (size_t n = 0; n < nodes.size(); n++) {
    auto [at, is_new] = known.try_emplace(hash_of_row(nodes[n], texts[n]), n);
    if (!is_new) has_ambiguous_hash_[n] = has_ambiguous_hash_[at->second] = true;
  }
}

int64_t EventWriter::first_row_from(int64_t id) const {
  return std::ranges::lower_bound(trace_numbers_, id) - trace_numbers_.begin();
}

// Returns the row that has replaced `node` so far in the innermost running graph rewrite; `node` itself if none has.
int64_t EventWriter::resolved_node(int64_t node) const {
  const auto& to = open_runs_.back().replacements;
  int64_t begun = node;
  size_t steps = 0;
  for (auto at = to.find(node); at != to.end(); at = to.find(node)) {
    node = at->second;
    if (node == begun || ++steps > to.size()) return begun;
  }
  return node;
}

void EventWriter::mark_written(int64_t node) {
  if (node >= 0 && node_states_[size_t(node)] == NodeState::Unknown) node_states_[size_t(node)] = NodeState::Written;
}

void EventWriter::record_replacement(int64_t before, int64_t after) {
  if (before != after) open_runs_.back().replacements[before] = after;
}

void EventWriter::add_event(const RecordedEvent& e) {
  switch (e.kind) {
    case RecordedEvent::Kind::Begin: return begin_rewrite(e);
    case RecordedEvent::Kind::End: return end_rewrite(e);
    case RecordedEvent::Kind::Rewrite: return add_rewrite(e);
    case RecordedEvent::Kind::Rebuilt: return add_rebuilt_node(e);
    case RecordedEvent::Kind::Gated:
      mark_written(row_of_node(e.event_node));
      event_kinds_.push_back(kGated);
      gated_nodes_.push_back(row_of_node(e.event_node) - std::exchange(previous_row_, row_of_node(e.event_node)));
  }
}

void EventWriter::begin_rewrite(const RecordedEvent& e) {
  mark_written(row_of_node(e.event_node));
  event_kinds_.push_back(kBegin);
  std::vector<int64_t> kind(e.event_numbers, e.event_numbers + 4);
  runs_.push_back(run_kinds_.try_emplace(kind, int64_t(run_kinds_.size())).first->second);
  inputs_.push_back(row_of_node(e.event_node) - previous_row_);
  open_runs_.push_back({row_of_node(e.event_node), {}});
}

void EventWriter::end_rewrite(const RecordedEvent& e) {
  mark_written(row_of_node(e.event_node));
  bool follows = open_runs_.size() > 1 && open_runs_.back().input >= 0 &&
                 resolved_node(open_runs_.back().input) == row_of_node(e.event_node);
  event_kinds_.push_back(follows ? kEnd : kEndWithResult);
  if (!follows) results_.push_back(row_of_node(e.event_node));
  if (open_runs_.size() > 1) open_runs_.pop_back();
}

void EventWriter::add_rewrite(const RecordedEvent& e) {
  int64_t before = row_of_node(e.event_node), after = row_of_node(e.new_node),
          made = first_row_from(e.event_numbers[1]);
  int64_t count = first_row_from(e.event_numbers[2]) - made;
  mark_written(before), mark_written(after);
  for (int64_t n = made; n < made + count; n++) mark_written(n);
  event_kinds_.push_back(kRewrite), rules_.push_back(e.event_numbers[0]), made_counts_.push_back(count);
  rewritten_nodes_.push_back(before - std::exchange(previous_row_, before));
  made_begins_.push_back(made - std::exchange(made_end_, made + count));
  const auto sources = nodes_[size_t(before)].src();
  auto slot = std::ranges::find(sources, e.new_node);
  auto known = last_result_rows_.find(before);
  if (known != last_result_rows_.end() && known->second == after) rewrite_results_.push_back(0);
  else if (slot != sources.end()) rewrite_results_.push_back(-1 - (slot - sources.begin()));
  else rewrite_results_.push_back(1 + zigzag((count ? made_end_ - 1 : before) - after));
  last_result_rows_[before] = after;
  record_replacement(before, after);
}

// The reader can derive `after` if it is `before` with each source replaced as in the running rewrite, and if no other
// row has its hash. The row of `after` is omitted if, in addition, no earlier event refers to the row and all rows
// derived so far precede it.
void EventWriter::add_rebuilt_node(const RecordedEvent& e) {
  int64_t before = row_of_node(e.event_node), after = row_of_node(e.new_node);
  mark_written(before);
  bool is_derived = can_derive(before, after);
  if (node_states_[size_t(after)] == NodeState::Unknown) {
    is_derived &= after > last_derived_;
    node_states_[size_t(after)] = is_derived ? NodeState::Derived : NodeState::Written;
    if (is_derived) last_derived_ = after, made_end_ = std::max(made_end_, after + 1);
  }
  event_kinds_.push_back(is_derived ? kRebuilt : kRebuiltWithResult);
  rebuilt_nodes_.push_back(before - std::exchange(previous_row_, before));
  if (!is_derived) rebuilt_results_.push_back(after - before);
  record_replacement(before, after);
}

bool EventWriter::can_derive(int64_t before, int64_t after) const {
  UOp a = nodes_[size_t(before)], b = nodes_[size_t(after)];
  const NodeTexts &x = node_texts_[size_t(before)], &y = node_texts_[size_t(after)];
  if (has_ambiguous_hash_[size_t(after)] || a.op() != b.op() || a.num_src() != b.num_src()) return false;
  if (x.dtype != y.dtype || x.arg != y.arg || x.tag != y.tag) return false;
  for (size_t i = 0; i < a.num_src(); i++)
    if (resolved_node(row_of_node(a.src(i))) != row_of_node(b.src(i))) return false;
  return true;
}

void EventWriter::write_events(JsonWriter& json) const {
  std::vector<const std::vector<int64_t>*> in_order(run_kinds_.size());
  for (auto& [kind, i] : run_kinds_) in_order[size_t(i)] = &kind;
  json.key("run_kinds").array([&] {
    for (auto* kind : in_order) json.value(*kind);
  });
  json.member("kind", event_kinds_).member("run", runs_).member("input", inputs_).member("result", results_);
  json.member("rule", rules_)
      .member("rewritten", rewritten_nodes_)
      .member("made", made_begins_)
      .member("made_count", made_counts_);
  json.member("became", rewrite_results_).member("rebuilt", rebuilt_nodes_).member("rebuilt_to", rebuilt_results_);
  json.member("gated", gated_nodes_);
}

}  // namespace tgc
