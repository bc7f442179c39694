#include "lib/compilation/stage_selection.h"

#include <algorithm>

#include "lib/compilation/stage_rows.h"
#include "lib/support/lines.h"

namespace tgc {
namespace {

constexpr std::string_view kAll = "all", kChanged = "changed", kKernels = "kernels";

}  // namespace

RecordedStageTexts recorded_stages_of_input(const InputGraph& in) {
  if (in.record && in.info.name == in.record->id) return RecordedStageTexts(*in.record);
  return RecordedStageTexts(in.text);  // one text, or one kernel of a tensor record
}

std::vector<std::string> StageSelection::words_of_list() const {
  std::vector<std::string> out;
  for (size_t at = 0; at <= list_text_.size();) {
    const size_t comma = end_of_word(list_text_, at);
    out.emplace_back(trimmed_line(std::string_view(list_text_).substr(at, comma - at)));
    at = comma + 1;
  }
  return out;
}

Result<std::vector<bool>> StageSelection::select_recorded_stages(const RecordedStageTexts& recorded) {
  if (is_empty()) return std::vector<bool>(recorded.size(), true);
  std::vector<NameChoice> choices{{kAll, "", "", false}, {kChanged, "", "", false}, {kKernels, "schedule", "", false}};
  for (const RecordedStage& s : recorded) {
    choices.push_back({s.name, alias_of_recorded_stage(s.name), slug_of_stage(s.name)});
    stage_names_.insert(s.name);
  }
  std::set<std::string_view> chosen, named;  // the selected names; those that a word names, and not only a span
  for (const std::string& word : words_of_list()) {
    const bool is_span = word.find("..") != word.npos;
    auto selected = select_stages(word.empty() ? std::string_view(list_text_) : std::string_view(word), choices);
    if (!selected && (word.empty() || selected.diag().message.starts_with("the span"))) return selected.diag();
    (selected ? matched_words_ : unmatched_words_).insert(word);
    if (!selected) continue;
    chosen.insert(selected->begin(), selected->end());
    if (!is_span) named.insert(selected->begin(), selected->end());
  }
  std::vector<bool> out;
  for (size_t i = 0; i < recorded.size(); i++) {
    const RecordedStage& s = recorded[i];
    const bool changed = chosen.contains(kChanged) && recorded.is_changed(i);
    const bool is_kernel = chosen.contains(kKernels) && s.kind == RecordedStage::Kind::Kernel;
    const bool wanted = chosen.contains(s.name) || chosen.contains(kAll) || changed || is_kernel;
    if (named.contains(s.name) && !s.text)
      return Diag{.message = "tinygrad could not print the graph after '" + s.name + "'"};
    out.push_back(wanted && s.text);
  }
  return out;
}

std::string StageSelection::word_for_row(const StageRow& row) const {
  for (const std::string& word : words_of_list())
    if (find_stage_row(word) == &row) return word;
  return {};
}

Result<SelectedRows> StageSelection::select_rows(bool (*offered)(const StageRow&)) {
  SelectedRows out{.selects_all_rows = is_empty()};
  if (is_empty()) return out;
  std::vector<NameChoice> choices = choices_of_rows(offered);
  for (std::string_view word : {kAll, kChanged}) choices.push_back({word, "", "", false});
  auto selected = select_stages(list_text_, choices);
  has_unknown_stage_ = !selected;
  if (!selected) return selected.diag();
  for (std::string_view name : *selected)
    if (name == kAll) out.selects_all_rows = true;
    else if (name == kChanged) out.selects_changed_rows = true;
    else out.rows.insert(find_stage_row(name));
  has_found_rows_ = true;
  return out;
}

Status StageSelection::check_words_matched() const {
  if (has_found_rows_) return Unit{};
  for (const std::string& word : unmatched_words_) {
    if (matched_words_.contains(word)) continue;
    std::vector<std::string_view> names(stage_names_.begin(), stage_names_.end());
    if (const StageRow* row = find_stage_row(word))
      return Diag{.message = "the recording has no '" + std::string(row->name) + "', a stage of tgc's own pipeline",
                  .expected = "a stage that `tgc stages RECORDING` lists; of a schedule's kernel: --kernel=N"};
    return unknown_word_error("stage", word, names, "a stage that `tgc stages RECORDING` lists");
  }
  return Unit{};
}

void SelectedStageObserver::begin_compilation(Compilation& c) {
  changed_rows_.clear();
  auto copy = selected_rows_.selects_changed_rows ? c.fork() : Result<Compilation>(Diag{});
  while (copy && copy->next_row() && copy->next_row()->is_graph_stage()) {
    auto step = copy->run_step();
    if (!step) break;
    if (step->has_changed()) changed_rows_.insert(step->row);
  }
  stage_observer_.begin_compilation(c);
}

void SelectedStageObserver::begin_stage(const StageRow& row, UOp input) {
  is_stage_selected_ = selected_rows_.has_row(row) || changed_rows_.contains(&row);
  if (is_stage_selected_) stage_observer_.begin_stage(row, input);
}

void SelectedStageObserver::end_stage(const StageRow& row, UOp result) {
  if (is_stage_selected_ || !result) stage_observer_.end_stage(row, result);
}

}  // namespace tgc
