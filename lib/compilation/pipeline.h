// Pipeline: one graph, and the stages by which it is compiled. There are three kinds: the native pipeline (tgc's own
// stages, those of tinygrad 0.12.0), the recorded pipeline (the stages of a tinygrad that the exporter recorded), and
// the live pipeline (a recorded one, whose record the user's tinygrad makes on demand).
//
//   auto pipeline = session.pipeline(std::move(in)).value_or_throw();
//   pipeline->require_ability(Ability::Rewrites).value_or_throw();
//   const auto rows = pipeline->rows().value_or_throw();
//   for (const Pipeline::StageData& row : rows) {
//     auto graph = pipeline->imported_graph(row);       // the row's graph or list in tgc's IR, to run it in REF
//     for (const Rewrite& r : row.rewrites) {
//       auto sides = pipeline->rewrite_sides(r);        // both sides in tgc's IR, to compare them
//       if (r.depth == row.own_depth()) ...             // a rewrite of the stage itself
//     }
//     UOp first_half = pipeline->replay_rewrites(row, row.own_rewrites().size() / 2, false);
//   }
//   auto other = pipeline->pipeline_without_rewrite(*culprit);  // compiles again, if it has Ability::LeaveOut
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/compilation/dump.h"
#include "lib/compilation/input_graph.h"
#include "lib/compilation/rewrite_log.h"
#include "lib/compilation/stage_selection.h"
#include "lib/compilation/trace_events.h"
#include "lib/import/import_sides.h"
#include "lib/rewrite/stats.h"

namespace tgc {

enum class Ability : uint8_t {
  Rewrites,
  Compile,        // compilation() works: tgc's own stages compile the graph
  LeaveOut,
  Attempts,
  Reasons,
  Specification,  // tinygrad 0.12.0's specification describes the graphs
  Recording,
};

// Renames the stages and nodes of a recording to those of a later release, to compare recordings of both releases.
struct LaterRelease {
  Release release = Release::v0_12;
  std::function<std::string(const std::string& stage)> stage_name;
  std::function<void(std::span<UOp* const> nodes)> rename_nodes;
};

class Pipeline {
 public:
  // A stage that ran, or the linear list.
  struct StageData {
    const StageRow* stage = nullptr;
    UOp input;                               // in nodes of the producer's release, like `result` and `list`
    UOp result;                              // empty if there is none or it is not known
    std::optional<Diag> error = {};
    std::vector<UOp> list = {};
    std::span<const Rewrite> rewrites = {};  // in order, nested ones included
    // the recorded stage; null in a native pipeline, and for the linear list
    const GoldenStage* recorded_stage = nullptr;

    bool changes_graph() const { return !(result == input); }
    // Returns the smallest depth of the rewrites, 0 if there are none. Rewrites of this depth count as the stage's own.
    int own_depth() const;
    std::vector<const Rewrite*> own_rewrites() const;
  };

  virtual ~Pipeline() = default;

  // ---- properties
  virtual const InputGraph& input() const = 0;
  const std::string& name() const { return input().info.name; }
  bool is_tensor_graph() const { return input().is_tensor_graph; }
  virtual std::string producer() const = 0;     // who makes the stages, such as "tgc" or "tinygrad 0.14.0"
  virtual std::string target() const = 0;
  virtual std::string_view kind() const = 0;    // "native", "recorded" or "live"
  // the stage that made the input; null if the input is an AST or names no stage, and in recorded pipelines
  virtual const StageRow* input_stage() const { return nullptr; }

  // ---- abilities
  virtual bool has_ability(Ability ability) const = 0;
  // Returns the error for a missing ability. `asked_by` is the option or command that needs it, such as "--why", or "".
  Diag missing_ability_error(Ability ability, std::string_view asked_by = {}) const;
  Status require_ability(Ability ability, std::string_view asked_by = {}) const;

  // ---- stages
  struct Stage {
    const StageRow* row;
    std::optional<bool> changes_graph = {};  // unset for rows that are not stages
  };
  virtual Result<std::vector<Stage>> stages() = 0;
  // Returns the rows of the stages and of the linear list. The first call compiles or reads all of them.
  virtual Result<std::span<const StageData>> rows() = 0;
  // To be called after rows().
  virtual UOp ast() const = 0;
  // Returns the row's graph or list in tgc's IR. Fails if the row has no graph, or one that cannot be imported.
  virtual Result<ImportedGraph> imported_graph(const StageData& row) = 0;

  // Returns the graphs that `stages` selects, in the release's own nodes: the AST, the results of stages that changed
  // the graph, and the recorded kernels of a schedule.
  virtual Result<std::vector<UOp>> graphs(StageSelection& stages) = 0;

  // ---- rewrites
  // Returns the rewrites of the selected stages, nested ones included.
  virtual Result<std::vector<const Rewrite*>> rewrites(StageSelection& stages) = 0;
  // Returns both sides of a rewrite in tgc's IR, as nodes of sides_graph(). Imported sides may be several pairs,
  // such as one for each scalar, or none if they cannot be compared. Fails if a side cannot be imported.
  virtual Result<SidesImporter::ImportedSides> rewrite_sides(const Rewrite& rewrite) = 0;
  virtual Graph& sides_graph() = 0;
  // Repeats the first `count` of the row's own rewrites on the row's input, and returns the result; the empty UOp if
  // the rewrites fail, such as by nesting too deep. With `bottom_up`, rewrites a node before its sources. A native
  // pipeline counts only the rewrites of graph rewrites in this order. It repeats only the graph rewrite that has
  // rewrite `count`, on the input of this graph rewrite; if there is none, it returns the row's result.
  virtual UOp replay_rewrites(const StageData& row, size_t count, bool bottom_up) = 0;
  virtual Result<std::unique_ptr<Pipeline>> pipeline_without_rewrite(const Rewrite& rewrite) = 0;

  virtual Result<std::vector<DumpText>> texts(StageSelection& stages, const DumpPlan& plan) = 0;
  virtual Result<std::string> source() = 0;

  // ---- events, counts, and a compilation by tgc's own stages
  // Sends the rewrites of the selected stages as events. The native pipeline also sends those of a tensor graph's
  // kernels, and ignores `later`. Other pipelines rename stages and nodes by `later`, if it is not null.
  virtual Status trace_stages(TraceConsumer& to, StageSelection& stages, const LaterRelease* later = nullptr) = 0;
  virtual Status count_rules(RuleStats&, StageSelection&) { return missing_ability_error(Ability::Attempts); }
  // Returns a Compilation of the input, which has run no stage.
  virtual Result<Compilation> compilation() { return missing_ability_error(Ability::Compile); }

  // ---- the kernels of a tensor graph
  virtual Result<std::vector<size_t>> kernel_numbers() = 0;
  virtual Result<std::unique_ptr<Pipeline>> kernel(size_t number) = 0;
  // Calls `take` with the input of each kernel, up to the first error.
  Status for_each_kernel(const std::function<Status(InputGraph)>& take);
};

// Returns the native pipeline of `compilation`, which must have run no stage.
std::unique_ptr<Pipeline> make_native_pipeline(Compilation compilation);

struct RuleMatch;

using RecompileFunction =
    std::function<Result<std::unique_ptr<Pipeline>>(const InputGraph& in, const RuleMatch& left_out)>;
using KernelCompileFunction = std::function<Result<std::unique_ptr<Pipeline>>(const InputGraph& in, size_t number)>;

// Returns the recorded pipeline of `in`, which has the texts of its record or, if `in` is not a whole record, its one
// text. `in` may be imported. With `again` and `kernel`, returns a live pipeline.
std::unique_ptr<Pipeline> make_recorded_pipeline(InputGraph in, RecompileFunction again = {},
                                                 KernelCompileFunction kernel = {});

}  // namespace tgc
