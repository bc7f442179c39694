#include "lib/driver/recorded_refusal.h"

namespace tgc {

std::string first_line(std::string_view message) {
  constexpr size_t kMost = 200;
  const std::string_view line = message.substr(0, message.find('\n'));
  return std::string(line.substr(0, kMost)) + (line.size() > kMost ? "..." : "");
}

Status check_compiled(const InputGraph& in) {
  if (!in.record) return Unit{};
  const GoldenRecord& r = *in.record;
  const std::string what = (in.is_tensor_graph ? "the schedule '" : "the kernel '") + r.id + "'";
  std::string after = r.stages.empty() ? "" : " after the stage '" + r.stages.back().name + "'";
  if (!r.error_stage.empty()) after = " at the stage '" + r.error_stage + "'";
  if (r.error)
    return Diag{.message = "tinygrad did not finish " + what + after + ": " + first_line(*r.error), .file = in.file};
  if (in.is_tensor_graph || r.linear || r.source) return Unit{};
  return Diag{.message = what + " has no compiled kernel: neither a linear list nor a source was recorded" + after,
              .file = in.file,
              .expected = "a recording of a program that compiles the kernel; `tgc dump` shows the stages"};
}

}  // namespace tgc
