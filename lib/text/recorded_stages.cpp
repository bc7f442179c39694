#include "lib/text/recorded_stages.h"

#include <algorithm>

namespace tgc {

RecordedStages::RecordedStages(const GoldenRecord& record) {
  using enum RecordedStage::Kind;
  list_.push_back({Ast, "ast", record.ast_full ? *record.ast_full : record.ast});
  if (record.ast_full) list_.back().letters = record.ast;
  for (const GoldenStage& s : record.stages) {
    const std::optional<std::string>& text = s.full ? s.full : s.ir;
    list_.push_back({Stage, s.name, s.same ? list_.back().text : text, s.same, s.full ? s.ir : s.letters});
  }
  for (size_t i = 0; i < record.kernels.size(); i++)
    if (!record.kernels[i].ast.empty()) list_.push_back({Kernel, "kernel " + std::to_string(i), record.kernels[i].ast});
  if (record.linear) list_.push_back({Output, "linear", *record.linear});
  if (record.source) list_.push_back({Output, "source", *record.source});
  if (!record.program) return;
  program_ = program_text(*record.program);
  list_.push_back({Output, "program", program_});
}

const RecordedStage* RecordedStages::find(std::string_view name) const {
  auto found = std::ranges::find(list_, name, &RecordedStage::name);
  return found == list_.end() ? nullptr : &*found;
}

}  // namespace tgc
