// The events of a recording as columns of numbers, without what follows from the rest: what a node became because its
// sources did, and where it is written in the table. README.md describes the columns; apps/tgc/view/events.js, which
// reads them, does what this file does, step by step: each event is told by what both know so far.
#pragma once
#include <map>
#include <unordered_map>
#include <vector>

#include "lib/support/json_writer.h"
#include "lib/view/recording.h"

namespace tgc {

class EventWriter {
 public:
  struct Texts {
    int64_t dtype, arg, tag;  // numbers of texts
  };
  // `nodes`: those of the table, sources first, and what is written of each; `numbers`: by id, the place in the table.
  EventWriter(const std::vector<UOp>& nodes, const std::vector<int32_t>& numbers, const std::vector<Texts>& texts);

  // In the order in which they happened.
  void add(const RecordedEvent& event);
  // Whether the node's row follows from the event that made it, once all are added.
  bool is_derived(size_t node) const { return state_[node] == State::Derived; }
  void write(JsonWriter& json) const;

 private:
  enum class State : uint8_t { Unknown, Told, Derived };
  struct Run {
    int64_t input;
    std::unordered_map<int64_t, int64_t> to;
  };

  int64_t number(UOp u) const { return u ? numbers_[u.id()] : -1; }
  int64_t first_from(int64_t id) const;  // the number of the first node with that id or a later one
  int64_t resolved(int64_t node) const;
  void meet(int64_t node);
  void begin(const RecordedEvent& e);
  void end(const RecordedEvent& e);
  void rewrite(const RecordedEvent& e);
  void rebuilt(const RecordedEvent& e);
  bool follows(int64_t before, int64_t after) const;
  void replace(int64_t before, int64_t after);

  const std::vector<UOp>& nodes_;
  const std::vector<int32_t>& numbers_;
  const std::vector<Texts>& texts_;
  std::vector<State> state_;
  std::vector<bool> ambiguous_;                    // there is another node with the same row
  std::vector<Run> open_{{-1, {}}};                // the last is the innermost; the first is of no run
  std::unordered_map<int64_t, int64_t> last_made_;  // by node: what a rule made of it the last time
  int64_t last_before_ = 0, made_end_ = 0, last_derived_ = -1;
  std::map<std::vector<int64_t>, int64_t> run_kinds_;
  // the columns
  std::vector<int64_t> kinds_, runs_, inputs_, results_, rules_, rewritten_, made_, made_count_, became_, times_;
  std::vector<int64_t> rebuilt_, rebuilt_to_, gated_;
};

}  // namespace tgc
