// Selects stages of recordings by the list of --stage: names, slugs, aliases, spans a..b, `all`, `changed`, `kernels`.
// The records of one recording may have different stages, so each record is asked for its own.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "lib/compilation/input_graph.h"
#include "lib/text/recorded_stages.h"

namespace tgc {

// Returns the alias of tgc's own stage of this name; "" if there is none.
std::string_view alias_of_recorded(std::string_view name);

// Returns what was recorded of `in`: the texts of its record, or the one text of an input that is not a whole record.
RecordedStages recorded_stages_of(const InputGraph& in);

class RecordedSelection {
 public:
  explicit RecordedSelection(std::string list) : list_(std::move(list)) {}

  bool is_empty() const { return list_.empty(); }
  // Returns for each entry of `recorded`, in order, whether the list selects it. Words that name no stage of this
  // record select nothing. Fails if the list is malformed, or if it names a stage that tinygrad could not print.
  Result<std::vector<bool>> of(const RecordedStages& recorded);
  // Fails if a word of the list named no stage of any record so far. The error suggests similar names.
  Status outcome() const;

 private:
  std::string list_;
  std::set<std::string, std::less<>> matched_, unmatched_;  // words of the list that named a stage, or did not
  std::set<std::string, std::less<>> names_;                // names of the stages so far, for suggestions
};

}  // namespace tgc
