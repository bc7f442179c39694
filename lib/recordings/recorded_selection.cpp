#include "lib/recordings/recorded_selection.h"

#include <algorithm>

#include "lib/compilation/stage_rows.h"
#include "lib/support/lines.h"

namespace tgc {
namespace {

constexpr std::string_view kAll = "all", kChanged = "changed", kKernels = "kernels";

}  // namespace

std::string_view alias_of_recorded(std::string_view name) {
  const StageRow* row = find_row(name);
  return row && row->name == name ? row->alias : std::string_view();
}

RecordedStages recorded_stages_of(const InputGraph& in) {
  if (in.record && in.info.name == in.record->id) return RecordedStages(*in.record);
  return RecordedStages(in.text);  // a text, or one kernel of a tensor record
}

Result<std::vector<bool>> RecordedSelection::of(const RecordedStages& recorded) {
  std::vector<Choice> choices{{kAll, "", "", false}, {kChanged, "", "", false}, {kKernels, "schedule", "", false}};
  for (const RecordedStage& s : recorded) {
    choices.push_back({s.name, alias_of_recorded(s.name), slug_of_stage(s.name)});
    names_.insert(s.name);
  }
  std::set<std::string_view> chosen, named;  // `named`: by a word of their own
  for (size_t at = 0; at <= list_.size();) {
    const size_t comma = std::min(list_.find(',', at), list_.size());
    const std::string word(trimmed(std::string_view(list_).substr(at, comma - at)));
    at = comma + 1;
    const bool is_span = word.find("..") != word.npos;
    auto selected = select_stages(word.empty() ? std::string_view(list_) : std::string_view(word), choices);
    if (!selected && (word.empty() || selected.diag().message.starts_with("the span"))) return selected.diag();
    (selected ? matched_ : unmatched_).insert(word);
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

Status RecordedSelection::outcome() const {
  for (const std::string& word : unmatched_) {
    if (matched_.contains(word)) continue;
    std::vector<std::string_view> names(names_.begin(), names_.end());
    if (const StageRow* row = find_row(word))
      return Diag{.message = "the recording has no '" + std::string(row->name) + "', a stage of tgc's own pipeline",
                  .expected = "a stage that `tgc stages RECORDING` lists; of a schedule's kernel: --kernel=N"};
    return unknown_name("stage", word, names, "a stage that `tgc stages RECORDING` lists");
  }
  return Unit{};
}

}  // namespace tgc
