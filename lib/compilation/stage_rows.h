// The complete list of stages: what may be run, dumped, compared, traced, counted or named on the command line, in
// order. The stages of a tensor graph, its schedule, the stages of a kernel, and the texts that are made of the last
// one, each a row. Nobody else keeps a list.
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
  std::string_view name;       // tinygrad's where it has one: "postopt symbolic"
  std::string_view alias;      // another spelling: "postopt"; may be empty
  std::string slug;            // the name in files: "postopt-symbolic"
  std::string_view extension;  // of its files; empty: a graph, whose format tells
  std::string_view help;       // of outputs
  size_t number = 0;           // in its level, from 0 for the AST: the NN of KERNEL.NN.STAGE.EXT
  const TensorStage* tensor = nullptr;
  const Stage* kernel = nullptr;
  const OutputStage* output = nullptr;

  bool is_graph_stage() const { return tensor || kernel; }
  bool by_compiler() const { return output && output->by_compiler; }  // made when it is named, and not by `all`
  std::string_view level() const;                                     // "tensor", "kernel", "program"
};

// All rows. A row's address is its identity: within a level a row that comes later has a greater one.
std::span<const StageRow> stage_rows();

// The row of that name in any case, slug or alias; null when there is none.
const StageRow* find_row(std::string_view text);

// The row of that name, which is one.
const StageRow& row_of(std::string_view name);

// The rules that the row applies with that target (of a kernel's row) and the graph's settings; null when it is no
// rewrite by rules.
const RuleSet* rules_of(const StageRow& row, const Target& target, Graph& graph);

// The rows as choices for select_stages, those for which `wanted` holds.
std::vector<Choice> choices_of_rows(bool (*wanted)(const StageRow&));

// "unknown stage 'expandr', expected expander, ..."
Diag unknown_stage(std::string_view text);

}  // namespace tgc
