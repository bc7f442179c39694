// StageSelection: the list of --stage (names, slugs, aliases, spans a..b, `all`, `changed`, `kernels`). A command
// applies the list to each pipeline of its input, because pipelines may have different stages.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "lib/compilation/compilation.h"
#include "lib/records/recorded_stages.h"

namespace tgc {

struct SelectedRows {
  std::set<const StageRow*> rows = {};
  bool selects_all_rows = false;
  bool selects_changed_rows = false;

  bool has_row(const StageRow& row) const { return selects_all_rows || rows.contains(&row); }
};

// Returns the recorded texts of `in`: those of its record, or the one text of an input that is not a whole record.
RecordedStageTexts recorded_stages_of_input(const InputGraph& in);

class StageSelection {
 public:
  explicit StageSelection(std::string list = "") : list_text_(std::move(list)) {}

  const std::string& list_text() const { return list_text_; }
  bool is_empty() const { return list_text_.empty(); }
  // Returns for each entry of `recorded` whether the list selects it. An empty list selects all. Words that name no
  // stage of this record select nothing. Fails if the list is malformed, or names a stage whose result tinygrad could
  // not print.
  Result<std::vector<bool>> select_recorded_stages(const RecordedStageTexts& recorded);
  // Returns the word of the list that is the name, slug or alias of `row`; "" if there is none. A pipeline that
  // has this row then calls mark_matched_word(), so that check_words_matched() does not report the word.
  std::string word_for_row(const StageRow& row) const;
  void mark_matched_word(const std::string& word) { matched_words_.insert(word); }
  // Returns the rows of tgc's own pipeline that the list selects, of those for which `offered` returns true; an empty
  // list selects all. Fails if the list is malformed or has an unknown word.
  Result<SelectedRows> select_rows(bool (*offered)(const StageRow&));
  // Returns true if the last select_rows() with a non-empty list failed.
  bool has_unknown_stage() const { return has_unknown_stage_; }
  // Fails if a word of the list named nothing in any recorded pipeline so far, unless a select_rows() has succeeded.
  Status check_words_matched() const;

 private:
  std::vector<std::string> words_of_list() const;

  std::string list_text_;
  // words that named something in at least one recorded pipeline; words that named nothing in at least one
  std::set<std::string, std::less<>> matched_words_, unmatched_words_;
  // the stages of all recorded pipelines, for suggestions
  std::set<std::string, std::less<>> stage_names_;
  bool has_unknown_stage_ = false;
  bool has_found_rows_ = false;
};

// Passes the events of compilations and of selected stages, and the failure of any stage, to another observer. If
// SelectedRows::selects_changed_rows is set, forks each compilation to find out which stages change its graph.
class SelectedStageObserver : public StageObserver {
 public:
  SelectedStageObserver(SelectedRows selected, StageObserver& to)
      : selected_rows_(std::move(selected)), stage_observer_(to) {}
  void begin_compilation(Compilation& c) override;
  void begin_stage(const StageRow& row, UOp input) override;
  void end_stage(const StageRow& row, UOp result) override;
  void end_compilation(Compilation& c) override { stage_observer_.end_compilation(c); }

 private:
  SelectedRows selected_rows_;
  std::set<const StageRow*> changed_rows_;
  bool is_stage_selected_ = false;
  StageObserver& stage_observer_;
};

}  // namespace tgc
