#include "lib/text/recorded_stages.h"

#include <algorithm>

namespace tgc {

RecordedStages::RecordedStages(const GoldenRecord& record) : RecordedStages(std::string_view(record.ast)) {
  using enum RecordedStage::Kind;
  for (const GoldenStage& s : record.stages)
    list_.push_back({Stage, s.name, s.same ? list_.back().text : s.ir, s.same, s.letters});
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
