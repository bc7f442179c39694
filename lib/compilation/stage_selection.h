// Selects stages by the list of --stage: names, slugs, aliases, spans a..b, `all`, `changed`, `kernels`. Pipelines may
// have different stages, so each pipeline of a command's input asks for its own.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "lib/compilation/compilation.h"
#include "lib/records/recorded_stages.h"

namespace tgc {

// The rows of tgc's own pipeline that a list selects.
struct SelectedRows {
  std::set<const StageRow*> rows = {};
  bool all = false, changed = false;  // `changed`: the stages that change the graph, too

  bool has(const StageRow& row) const { return all || rows.contains(&row); }
};

// Returns what was recorded of `in`: the texts of its record, or the one text of an input that is not a whole record.
RecordedStages recorded_stages_of(const InputGraph& in);

class StageSelection {
 public:
  explicit StageSelection(std::string list = "") : list_(std::move(list)) {}

  const std::string& list() const { return list_; }
  bool is_empty() const { return list_.empty(); }
  // Returns for each entry of `recorded`, in order, whether the list selects it; an empty list selects all. Words that
  // name no stage of this record select nothing. Fails if the list is malformed, or if it names a stage that tinygrad
  // could not print.
  Result<std::vector<bool>> of(const RecordedStages& recorded);
  // Returns the word of the list that is the name, slug or alias of `row`; "" if there is none. take() says that a
  // pipeline has what the word names, although it is no recorded stage.
  std::string word_for(const StageRow& row) const;
  void take(const std::string& word) { matched_.insert(word); }
  // Returns the rows of tgc's own pipeline that the list selects, of those for which offered(row) returns true; an
  // empty list selects all. Fails if the list has another word.
  Result<SelectedRows> of_rows(bool (*offered)(const StageRow&));
  // Returns whether of_rows() failed, as it will for every pipeline of tgc's own stages.
  bool is_unknown() const { return is_unknown_; }
  // Fails if a word of the list named no stage of any pipeline so far. The error suggests similar names.
  Status outcome() const;

 private:
  std::vector<std::string> words() const;  // the words of the list, without blanks around them

  std::string list_;
  std::set<std::string, std::less<>> matched_, unmatched_;  // words of the list that named a stage, or did not
  std::set<std::string, std::less<>> names_;                // names of the stages so far, for suggestions
  bool is_unknown_ = false;
  bool is_taken_ = false;                                   // tgc's own pipeline has all stages of the list
};

// Passes the stages that a list selects to another watcher. For `changed`, forks each compilation to find the stages
// that change its graph.
class SelectedStages : public Watcher {
 public:
  SelectedStages(SelectedRows selected, Watcher& to) : selected_(std::move(selected)), to_(to) {}
  void begin(Compilation& c) override;
  void stage(const StageRow& row, UOp input) override;
  void stage_end(const StageRow& row, UOp result) override;
  void end(Compilation& c) override { to_.end(c); }

 private:
  SelectedRows selected_;
  std::set<const StageRow*> changed_;
  bool on_ = false;
  Watcher& to_;
};

}  // namespace tgc
