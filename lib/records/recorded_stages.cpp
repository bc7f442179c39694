#include "lib/records/recorded_stages.h"

#include <algorithm>

namespace tgc {

std::string slug_of_stage(std::string_view name) {
  std::string out;
  for (char c : name) {
    bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '+';
    if (word) out += char(c >= 'A' && c <= 'Z' ? c | 32 : c);
    else if (!out.empty() && out.back() != '-') out += '-';
  }
  while (out.ends_with('-')) out.pop_back();
  return out.empty() ? "stage" : out;
}

RecordedStageTexts::RecordedStageTexts(const GoldenRecord& record) {
  using enum RecordedStage::Kind;
  stages_.push_back({Ast, "ast", record.ast_full ? *record.ast_full : record.ast});
  if (record.ast_full) stages_.back().pyrender = record.ast;
  for (const GoldenStage& s : record.stages) {
    const std::optional<std::string>& text = s.full_text ? s.full_text : s.ir;
    stages_.push_back(
        {Stage, s.name, s.is_unchanged ? stages_.back().text : text, s.is_unchanged, s.full_text ? s.ir : s.pyrender});
  }
  for (size_t i = 0; i < record.kernels.size(); i++)
    if (!record.kernels[i].ast.empty())
      stages_.push_back({Kernel, "kernel " + std::to_string(i), record.kernels[i].ast});
  if (record.linear) stages_.push_back({Output, "linear", *record.linear});
  if (record.source) stages_.push_back({Output, "source", *record.source});
  if (!record.program) return;
  program_text_ = program_text(*record.program);
  stages_.push_back({Output, "program", program_text_});
}

const RecordedStage* RecordedStageTexts::find_stage(std::string_view name) const {
  auto found = std::ranges::find(stages_, name, &RecordedStage::name);
  if (found == stages_.end()) found = std::ranges::find(stages_, name, [](auto& s) { return slug_of_stage(s.name); });
  return found == stages_.end() ? nullptr : &*found;
}

}  // namespace tgc
