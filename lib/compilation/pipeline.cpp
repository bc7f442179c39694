#include "lib/compilation/pipeline.h"

#include <algorithm>

namespace tgc {
namespace {

struct AbilityText {
  std::string_view lacks;
  bool recording = false, live = false, native = false;  // the pipelines to offer in the error message
  std::string_view other = {};
};

AbilityText text_of(Ability ability) {
  switch (ability) {
    case Ability::Rewrites: return {.lacks = "has no rewrites", .recording = true, .live = true, .native = true};
    case Ability::Compile: return {.lacks = "is not compiled by tgc's own stages", .native = true};
    case Ability::LeaveOut: return {.lacks = "cannot compile again", .live = true, .native = true};
    case Ability::Attempts: return {.lacks = "counts no attempts of rules", .native = true};
    case Ability::Reasons:
      return {.lacks = "has no reasons for the kernels of a schedule",
              .other = "the recording of the schedules, FILE.tensor.jsonl.gz"};
    case Ability::Specification:
      return {.lacks = "has graphs that tinygrad 0.12.0's specification does not describe", .native = true,
              .other = "--structure"};
    case Ability::Recording: return {.lacks = "has no record", .other = "FILE#ID of a recording"};
  }
  return {};
}

}  // namespace

int Pipeline::Row::own_depth() const {
  return rewrites.empty() ? 0 : std::ranges::min_element(rewrites, {}, &Rewrite::depth)->depth;
}

Status Pipeline::for_each_kernel(const std::function<Status(InputGraph)>& take) {
  auto numbers = kernel_numbers();
  if (!numbers) return numbers.diag();
  for (size_t number : *numbers) {
    auto made = kernel(number);
    if (!made) return made.diag();
    if (auto status = take((*made)->input()); !status) return status;
  }
  return Unit{};
}

std::vector<const Rewrite*> Pipeline::Row::own_rewrites() const {
  std::vector<const Rewrite*> out;
  const int own = own_depth();
  for (const Rewrite& r : rewrites)
    if (r.depth == own) out.push_back(&r);
  return out;
}

namespace {

Diag lacking(Ability ability, std::string_view asked_by, std::string_view kind, const std::string& producer,
             const std::string& file, bool is_tensor_graph) {
  const AbilityText text = text_of(ability);
  Diag out{.message = asked_by.empty() ? "" : std::string(asked_by) + ": ", .file = file};
  out.message.append("the ").append(kind).append(" pipeline of ").append(producer).append(" ").append(text.lacks);
  auto offer = [&](bool helps, std::string_view what) {
    if (helps) out.expected.append(out.expected.empty() ? "" : ", or ").append(what);
  };
  offer(text.recording && kind == "recorded", "a recording of tinygrad_export.py --rewrites");
  offer(text.live && kind == "recorded", "--live=PYTHON");
  offer(text.native && !is_tensor_graph, kind == "live" ? "no --live" : "--native");
  offer(!text.other.empty(), text.other);
  return out;
}

}  // namespace

Diag Pipeline::missing_ability_error(Ability ability, std::string_view asked_by) const {
  return lacking(ability, asked_by, kind(), producer(), input().file, is_tensor_graph());
}

Diag foreign_graph_error(std::string_view producer, const std::string& file) {
  return lacking(Ability::Compile, "", "recorded", std::string(producer), file, false);
}

Status Pipeline::require_ability(Ability ability, std::string_view asked_by) const {
  return has_ability(ability) ? Status(Unit{}) : Status(missing_ability_error(ability, asked_by));
}

}  // namespace tgc
