#include "lib/compilation/stage_rows.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "lib/records/recorded_stages.h"
#include "lib/support/result.h"

namespace tgc {
namespace {

using Kind = StageRow::Kind;

std::vector<StageRow> make_stage_rows() {
  std::vector<StageRow> rows;
  rows.push_back({.kind = Kind::Ast, .name = "ast", .slug = "ast", .help_text = "the graph as it was given"});
  size_t number = 0;
  for (const TensorStage& s : tensor_stages())
    rows.push_back({.kind = Kind::Tensor,
                    .name = s.name,
                    .alias = s.alias,
                    .slug = s.slug(),
                    .help_text = s.purpose, .position_in_level = ++number, .tensor = &s});
  rows.push_back({.kind = Kind::Schedule, .name = "schedule", .alias = "kernels", .slug = "schedule",
                  .extension = "txt", .help_text = "the kernels in the order they run, and their buffers",
                  .position_in_level = ++number});
  number = 0;
  for (const Stage& s : kernel_stages())
    rows.push_back({.kind = Kind::Kernel,
                    .name = s.name,
                    .alias = s.alias,
                    .slug = s.slug(),
                    .help_text = s.purpose, .position_in_level = ++number, .kernel = &s});
  for (const OutputStage& o : output_stages())
    rows.push_back({.kind = Kind::Output, .name = o.name, .alias = o.alias, .slug = std::string(o.name),
                    .extension = o.extension, .help_text = o.help_text, .position_in_level = ++number, .output = &o});
  return rows;
}

NameChoice name_choice_of(const StageRow& row) {
  return {row.name, row.alias, row.slug, !row.is(OutputKind::Compiled)};
}

template <class Predicate>
const StageRow& first_row(Predicate predicate) {
  auto row = std::ranges::find_if(stage_rows(), predicate);
  TGC_CHECK(row != stage_rows().end(), "no stage of that kind");
  return *row;
}

}  // namespace

std::string_view StageRow::level() const {
  if (kind == Kind::Output) return "program";
  return kind == Kind::Kernel ? "kernel" : "tensor";
}

std::span<const StageRow> stage_rows() {
  static const std::vector<StageRow> rows = make_stage_rows();
  return rows;
}

const StageRow& recorded_stage_row(StageRow::Kind kind, std::string_view name, size_t number) {
  static std::mutex mutex;
  static std::map<std::tuple<StageRow::Kind, std::string, size_t>, StageRow> rows;
  std::lock_guard lock(mutex);
  auto [it, is_new] = rows.try_emplace({kind, std::string(name), number}, StageRow{.kind = kind, .slug = {}});
  StageRow& row = it->second;
  if (!is_new) return row;
  row.name = std::get<std::string>(it->first), row.slug = slug_of_stage(name), row.position_in_level = number;
  row.alias = alias_of_recorded_stage(name);
  if (const StageRow* own = find_stage_row(name)) row.extension = own->extension;
  return row;
}

std::string_view alias_of_recorded_stage(std::string_view name) {
  const StageRow* own = find_stage_row(name);
  return own && own->name == name ? own->alias : std::string_view();
}

std::string_view purpose_of_stage(std::string_view name) {
  for (const StageRow& row : stage_rows())
    if ((row.tensor || row.kernel) && name == row.name) return row.help_text;
  static constexpr std::pair<std::string_view, std::string_view> kPurposes[] = {
#define TGC_STAGE(name, purpose) {name, purpose},
#include "lib/compilation/stage_purposes.def"
#undef TGC_STAGE
  };
  for (const auto& [known, purpose] : kPurposes)
    if (known.ends_with('*') ? name.starts_with(known.substr(0, known.size() - 1)) : name == known)
      return purpose;
  return "";
}

const StageRow* find_stage_row(std::string_view text) {
  for (const StageRow& row : stage_rows())
    if (text == row.name) return &row;
  for (const StageRow& row : stage_rows())
    if (is_name_of_choice(text, name_choice_of(row))) return &row;
  return nullptr;
}

const StageRow& get_stage_row(std::string_view name) {
  const StageRow* row = find_stage_row(name);
  TGC_CHECK(row, "no stage '" + std::string(name) + "'");
  return *row;
}

const StageRow& get_stage_row(StageRow::Kind kind) {
  return first_row([&](const StageRow& row) { return row.kind == kind; });
}
const StageRow& get_stage_row(StageKind kind) {
  return first_row([&](const StageRow& row) { return row.is(kind); });
}
const StageRow& get_stage_row(OutputKind kind) {
  return first_row([&](const StageRow& row) { return row.is(kind); });
}

const RuleSet* rules_of_row(const StageRow& row, const Target& target, Graph& graph) {
  if (row.kernel && row.kernel->rules) return row.kernel->rules(KernelJob{graph, target});
  if (row.tensor && row.tensor->rules) return row.tensor->rules(TensorJob(graph));
  return nullptr;
}

std::vector<NameChoice> choices_of_rows(bool (*wanted)(const StageRow&)) {
  std::vector<NameChoice> out;
  for (const StageRow& row : stage_rows())
    if (wanted(row)) out.push_back(name_choice_of(row));
  return out;
}

Diag unknown_stage_error(std::string_view text) {
  auto choices = choices_of_rows([](const StageRow&) { return true; });
  return select_stages(text, choices).diag();
}

}  // namespace tgc
