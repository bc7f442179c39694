// The complete list of stages that can be run, dumped, compared, traced, counted or named on the command line, in
// order: the stages of a tensor graph, its schedule, the stages of a kernel, and the kernel's outputs. There is no
// other list.
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
  std::string_view name;            // tinygrad's name if it has one: "postopt symbolic"
  std::string_view alias = {};      // a short name: "postopt"; may be empty
  std::string slug;                 // the name in file names: "postopt-symbolic"
  std::string_view extension = {};  // of its files; empty for a graph, whose format tells the extension
  std::string_view help = {};       // what the row holds; empty for graph stages
  size_t number = 0;                // within its level, from 0 for the AST: the NN of KERNEL.NN.STAGE.EXT
  // Exactly the one that `kind` names is set.
  const TensorStage* tensor = nullptr;
  const Stage* kernel = nullptr;
  const OutputStage* output = nullptr;

  bool is_graph_stage() const { return tensor || kernel; }
  bool is(OutputKind k) const { return output && output->kind == k; }
  bool is(StageKind k) const { return kernel && kernel->kind == k; }
  std::string_view level() const;  // "tensor", "kernel", "program"
};

// All rows. The address of a row is its identity: a later row of the same level has a greater address.
std::span<const StageRow> stage_rows();

// Returns the row with that name (in any case), slug or alias; null if there is none.
const StageRow* find_row(std::string_view text);

// Returns the row with that name, slug or alias, which must exist.
const StageRow& row_of(std::string_view name);

// Return the first row of that kind.
const StageRow& row_of(StageRow::Kind kind);
const StageRow& row_of(StageKind kind);
const StageRow& row_of(OutputKind kind);

// Returns the rule set that the row applies for that target (ignored for a tensor row) under the graph's settings; null
// if the row is not a rewrite by rules.
const RuleSet* rules_of(const StageRow& row, const Target& target, Graph& graph);

// Returns the rows for which `wanted` holds, as choices for select_stages.
std::vector<Choice> choices_of_rows(bool (*wanted)(const StageRow&));

// Returns the error for an unknown stage name: "unknown stage 'expandr', expected expander, ..."
Diag unknown_stage(std::string_view text);

}  // namespace tgc
