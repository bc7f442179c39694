#include "lib/compilation/stage_rows.h"

#include "lib/support/check.h"

namespace tgc {
namespace {

using Kind = StageRow::Kind;

std::vector<StageRow> make_rows() {
  std::vector<StageRow> rows;
  rows.push_back({Kind::Ast, "ast", "", "ast", "", "the graph as it was given"});
  size_t number = 0;
  for (const TensorStage& s : tensor_stages())
    rows.push_back({Kind::Tensor, s.name, s.alias, s.slug(), "", "", ++number, &s});
  rows.push_back({Kind::Schedule, "schedule", "kernels", "schedule", "txt",
                  "the kernels in the order they run, and their buffers", ++number});
  number = 0;
  for (const Stage& s : kernel_stages())
    rows.push_back({Kind::Kernel, s.name, s.alias, s.slug(), "", "", ++number, nullptr, &s});
  for (const OutputStage& o : output_stages())
    rows.push_back(
        {Kind::Output, o.name, o.alias, std::string(o.name), o.extension, o.help, ++number, nullptr, nullptr, &o});
  return rows;
}

Choice choice_of(const StageRow& row) { return {row.name, row.alias, row.slug, !row.by_compiler()}; }

}  // namespace

std::string_view StageRow::level() const {
  if (kind == Kind::Output) return "program";
  return kind == Kind::Kernel ? "kernel" : "tensor";
}

std::span<const StageRow> stage_rows() {
  static const std::vector<StageRow> rows = make_rows();
  return rows;
}

const StageRow* find_row(std::string_view text) {
  for (const StageRow& row : stage_rows())
    if (text == row.name) return &row;
  for (const StageRow& row : stage_rows())
    if (names_choice(text, choice_of(row))) return &row;
  return nullptr;
}

const StageRow& row_of(std::string_view name) {
  const StageRow* row = find_row(name);
  TGC_CHECK(row, "no stage '" + std::string(name) + "'");
  return *row;
}

const RuleSet* rules_of(const StageRow& row, const Target& target, Graph& graph) {
  if (row.kernel && row.kernel->rules) return row.kernel->rules(KernelJob{graph, target});
  if (row.tensor && row.tensor->rules) return row.tensor->rules(TensorJob(graph));
  return nullptr;
}

std::vector<Choice> choices_of_rows(bool (*wanted)(const StageRow&)) {
  std::vector<Choice> out;
  for (const StageRow& row : stage_rows())
    if (wanted(row)) out.push_back(choice_of(row));
  return out;
}

Diag unknown_stage(std::string_view text) {
  auto choices = choices_of_rows([](const StageRow&) { return true; });
  return select_stages(text, choices).diag();
}

}  // namespace tgc
