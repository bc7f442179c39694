// The list of all stages that can be run, dumped, compared, traced, counted or named on the command line, in order: the
// stages of a tensor graph, its schedule, the stages of a kernel, and the kernel's outputs. No other code has a list of
// stages.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/compilation/outputs.h"
#include "lib/compilation/selection.h"
#include "passes/pipeline.h"

namespace tgc {

struct StageRow {
  enum class Kind : uint8_t { Ast, Tensor, Schedule, Kernel, Output };

  Kind kind;
  std::string_view name;            // tinygrad's name of the stage, if it has one: "postopt symbolic"
  std::string_view alias = {};      // a short name: "postopt"; may be empty
  std::string slug;                 // the name in file names: "postopt-symbolic"
  std::string_view extension = {};  // extension of its files; empty for a graph, where the format decides
  std::string_view help = {};       // what the row holds; empty for graph stages
  size_t number = 0;                // number within its level, from 0 for the AST: NN in KERNEL.NN.STAGE.EXT
  // Exactly one of the following is not null; `kind` says which.
  const TensorStage* tensor = nullptr;
  const Stage* kernel = nullptr;
  const OutputStage* output = nullptr;

  bool is_graph_stage() const { return tensor || kernel; }
  bool is(OutputKind k) const { return output && output->kind == k; }
  bool is(StageKind k) const { return kernel && kernel->kind == k; }
  std::string_view level() const;  // "tensor", "kernel", "program"
};

// All rows. A row is identified by its address; within a level, later rows have greater addresses.
std::span<const StageRow> stage_rows();

// Returns the row with that name (in any case), slug or alias; null if there is none.
const StageRow* find_row(std::string_view text);

// Returns the row with this name, slug or alias. There must be such a row.
const StageRow& row_of(std::string_view name);

// Return the first row of this kind.
const StageRow& row_of(StageRow::Kind kind);
const StageRow& row_of(StageKind kind);
const StageRow& row_of(OutputKind kind);

// Returns the rule set that the row applies for `target` (ignored for a tensor row) under the settings of `graph`.
// Returns null if the row is not a rewrite by rules.
const RuleSet* rules_of(const StageRow& row, const Target& target, Graph& graph);

// Returns the rows for which wanted(row) is true, as choices for select_stages.
std::vector<Choice> choices_of_rows(bool (*wanted)(const StageRow&));

// Returns the error for an unknown stage name: "unknown stage 'expandr', expected expander, ..."
Diag unknown_stage(std::string_view text);

}  // namespace tgc
