#include "lib/compilation/pipeline.h"

#include <algorithm>

namespace tgc {
namespace {

struct AbilityText {
  std::string_view missing_text;
  bool offers_recording = false, offers_live = false,
       offers_native = false;  // the pipelines to offer in the error message
  std::string_view other_offer = {};
};

AbilityText ability_text_of(Ability ability) {
  switch (ability) {
    case Ability::Rewrites:
      return {.missing_text = "has no rewrites", .offers_recording = true, .offers_live = true, .offers_native = true};
    case Ability::Compile: return {.missing_text = "is not compiled by tgc's own stages", .offers_native = true};
    case Ability::LeaveOut: return {.missing_text = "cannot compile again", .offers_live = true, .offers_native = true};
    case Ability::Attempts: return {.missing_text = "counts no attempts of rules", .offers_native = true};
    case Ability::Reasons:
      return {.missing_text = "has no reasons for the kernels of a schedule",
              .other_offer = "the recording of the schedules, FILE.tensor.jsonl.gz"};
    case Ability::Specification:
      return {.missing_text = "has graphs that tinygrad 0.12.0's specification does not describe",
              .offers_native = true,
              .other_offer = "--structure"};
    case Ability::Recording: return {.missing_text = "has no record", .other_offer = "FILE#ID of a recording"};
  }
  return {};
}

}  // namespace

int Pipeline::StageData::own_depth() const {
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

std::vector<const Rewrite*> Pipeline::StageData::own_rewrites() const {
  std::vector<const Rewrite*> out;
  const int own = own_depth();
  for (const Rewrite& r : rewrites)
    if (r.depth == own) out.push_back(&r);
  return out;
}

namespace {

Diag make_missing_ability_error(Ability ability, std::string_view asked_by, std::string_view kind,
                                const std::string& producer, const std::string& file, bool is_tensor_graph) {
  const AbilityText text = ability_text_of(ability);
  Diag out{.message = asked_by.empty() ? "" : std::string(asked_by) + ": ", .file = file};
  out.message.append("the ")
      .append(kind)
      .append(" pipeline of ")
      .append(producer)
      .append(" ")
      .append(text.missing_text);
  auto offer = [&](bool helps, std::string_view what) {
    if (helps) out.expected.append(out.expected.empty() ? "" : ", or ").append(what);
  };
  offer(text.offers_recording && kind == "recorded", "a recording of tinygrad_export.py --rewrites");
  offer(text.offers_live && kind == "recorded", "--live=PYTHON");
  offer(text.offers_native && !is_tensor_graph, kind == "live" ? "no --live" : "--native");
  offer(!text.other_offer.empty(), text.other_offer);
  return out;
}

}  // namespace

Diag Pipeline::missing_ability_error(Ability ability, std::string_view asked_by) const {
  return make_missing_ability_error(ability, asked_by, kind(), producer(), input().file, is_tensor_graph());
}

Diag foreign_graph_error(std::string_view producer, const std::string& file) {
  return make_missing_ability_error(Ability::Compile, "", "recorded", std::string(producer), file, false);
}

Status Pipeline::require_ability(Ability ability, std::string_view asked_by) const {
  return has_ability(ability) ? Status(Unit{}) : Status(missing_ability_error(ability, asked_by));
}

}  // namespace tgc
