// The rows that options such as --stage can name, in order: the AST, the stages of a tensor graph, its schedule, the
// stages of a kernel, and the kernel's outputs. Recordings have rows of their own.
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
  std::string_view name;            // tinygrad's name if it has one, such as "postopt symbolic"
  std::string_view alias = {};      // such as "postopt"; may be empty
  std::string slug;                 // the name in file names, such as "postopt-symbolic"
  std::string_view extension = {};  // empty for a graph, whose format decides
  std::string_view help_text = {};  // empty for a recorded stage, see purpose_of_stage()
  // The NN in KERNEL.NN.STAGE.EXT. Counts from 1 for tensor stages and the schedule, and from 1 for kernel stages and
  // outputs. 0 for the AST. For a recorded stage, see recorded_stage_row().
  size_t position_in_level = 0;
  // The pointer for `kind` is set, if there is one; the others are null. All are null in rows of recordings.
  const TensorStage* tensor = nullptr;
  const Stage* kernel = nullptr;
  const OutputStage* output = nullptr;

  bool is_graph_stage() const { return kind == Kind::Tensor || kind == Kind::Kernel; }
  bool is(OutputKind k) const { return output && output->kind == k; }
  bool is(StageKind k) const { return kernel && kernel->kind == k; }
  std::string_view level() const;  // "tensor", "kernel" or "program"
};

// A row is identified by its address; within a level, later rows have greater addresses.
std::span<const StageRow> stage_rows();

// Returns the row for a recorded stage. `number` is its position among the texts of the record, where the AST is 0.
// Equal arguments give the same row, which is never freed.
const StageRow& recorded_stage_row(StageRow::Kind kind, std::string_view name, size_t number);
// Returns the alias of tgc's own stage with the name `name`, for a recorded stage; "" if there is none.
std::string_view alias_of_recorded_stage(std::string_view name);
// Returns what the stage that tinygrad calls `name` does, also for stages of other releases; "" for an unknown name.
std::string_view purpose_of_stage(std::string_view name);

// Returns the row with this name, slug or alias, whatever the case of the letters; null if there is none.
const StageRow* find_stage_row(std::string_view text);

// The row must exist.
const StageRow& get_stage_row(std::string_view name);

// Return the first row of this kind, which must exist.
const StageRow& get_stage_row(StageRow::Kind kind);
const StageRow& get_stage_row(StageKind kind);
const StageRow& get_stage_row(OutputKind kind);

// Returns JobStage::rules of the row for `target` (ignored for tensor rows) with the settings of `graph`; null if the
// row has none.
const RuleSet* rules_of_row(const StageRow& row, const Target& target, Graph& graph);

// Returns the rows for which `wanted` returns true, in the form that select_stages() takes.
std::vector<NameChoice> choices_of_rows(bool (*wanted)(const StageRow&));

Diag unknown_stage_error(std::string_view text);

}  // namespace tgc
