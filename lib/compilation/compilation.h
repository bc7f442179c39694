// Compilation: a graph and its position in the list of stages (stage_rows.h).
//
//   auto c = Compilation::begin(std::move(graph), {.target = "CPU:LLVM"});
//   while (c->next_row()) c->run_step();                 // or c->run_through_stage(row_of("expander"))
//   std::string source = *c->row_output(row_of(OutputKind::Source));
//
// Outputs of compilers are not steps: row_output() makes them on request.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/compilation/input_graph.h"
#include "lib/compilation/stage_rows.h"
#include "passes/tensor/memory_planner.h"
#include "passes/tensor/schedule.h"

namespace tgc {

// The parameters of one compilation.
struct CompilationSpec {
  // DEVICE[:RENDERER[:ARCH]]. If empty: CPU, or for a kernel of a tensor graph the device of its buffers.
  std::string target = {};
  std::string opts = {};  // opts as text, "[Opt(...)]"; empty: those of the AST, else the optimizer chooses
  // For the result of a stage: whether stages that depend on the optimizer run. For an AST, begin_kernel() decides.
  std::optional<bool> should_optimize = {};
  // For each kernel name: how many earlier kernels of the schedule have it. The second kernel "E_4" is named "E_4n1".
  std::map<std::string, int> kernel_name_counts = {};
  CompileOptions compile_options = {};
};

class Compilation;

// Receives the events of a compilation. end_compilation() also follows errors. The Compilation may move between two
// events, so a watcher must not keep a pointer to it.
class StageObserver {
 public:
  virtual ~StageObserver() = default;
  virtual void begin_compilation(Compilation& /*what*/) {}
  virtual void begin_stage(const StageRow& /*row*/, UOp /*input*/) {}
  virtual void end_stage(const StageRow& /*row*/, UOp /*result*/) {}
  virtual void end_compilation(Compilation& /*what*/) {}
};

class Compilation {
 public:
  // Begins a compilation before the first stage, or after the stage that `graph.info.stage` names. Fails if an argument
  // or TGC_FAULT is invalid.
  static Result<Compilation> begin(InputGraph graph, CompilationSpec spec);
  Compilation(Compilation&&) noexcept;
  Compilation& operator=(Compilation&&) noexcept;
  ~Compilation();

  // ---- state
  const std::string& name() const;
  const InputGraph& input_graph() const;
  const CompilationSpec& spec() const;
  Graph& graph() const;
  bool is_tensor_graph() const;
  const Target& target() const;
  UOp ast() const;                      // the graph before the first step
  UOp current_graph() const;            // for a linear list, the last node
  const StageRow* input_stage() const;  // the stage that made the input; null if the input names none or is an AST
  // the row that ran last; if no row has run, input_stage(), or the row "linear" for a linear list
  const StageRow* last_row() const;
  // the row that run_step() will run; null if all rows have run, or after run_step() failed
  const StageRow* next_row() const;

  // ---- running
  struct StepResult {
    const StageRow* row = nullptr;
    UOp before, after;  // the graph before and after the row
    bool has_changed() const { return !(before == after); }
  };
  // Runs the next row. After a row fails, later calls return the same error.
  Result<StepResult> run_step();
  // Runs all rows up to and including `row`. Skips stages that do not apply to this graph.
  Status run_through_stage(const StageRow& row);

  // ---- outputs; functions that return a Result first run the stages that they need
  Result<std::string> row_output(const StageRow& row);  // text or bytes
  // The functions from here up to kernel_name_counts() are only for a kernel.
  const Result<std::vector<UOp>>& list();
  const Result<std::string>& source();                    // the text that the target's renderer prints
  Result<KernelOutputs*> outputs();                       // owned by the Compilation
  Result<CompileJob> make_compile_job();
  // as in CompilationSpec; the optimizer adds the kernel; not for lists
  const std::map<std::string, int>& kernel_name_counts() const;
  // The functions from here up to tensor_job() are only for a tensor graph.
  const Result<Schedule>& schedule();      // fails if the input is the result of a stage, or if a step fails
  Result<std::string> schedule_as_json();
  Sha256 schedule_key();                   // tinygrad's key of the schedule cache; requires schedule()
  double schedule_seconds() const;
  const TensorJob& tensor_job() const;
  // ---- kernels of a tensor graph. Kernel 3 of the schedule of NAME is named NAME.3. Items that only copy or view are
  // not kernels. After schedule(), several threads may call kernel(), because each kernel has its own Graph.
  std::vector<size_t> kernel_numbers();
  std::string kernel_name(size_t number) const;
  std::string kernel_target(size_t number);
  std::string kernel_user_operation(size_t number) const;  // see InputGraph::made_for
  Result<Compilation> kernel(size_t number);
  Result<std::vector<Compilation>> kernels();

  // ---- copies, the input, and the watcher
  // Returns a Compilation at the same position, with its own Graph; after an output, at the last graph stage. Runs the
  // stages of a tensor graph again. Fails for a linear list, and after an error.
  Result<Compilation> fork() const;

  // Removes the watcher.
  InputGraph take_input() &&;

  // Null removes the watcher. Calls end_compilation() of the previous one, then begin_compilation().
  void set_stage_observer(StageObserver* stage_observer);

 private:
  struct State;
  Result<std::string> schedule_text(bool as_json);
  explicit Compilation(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Runs all stages of a kernel, and makes its linear list; or runs the stages of a tensor graph, its schedule and its
// kernels. Fails for a linear list, or if one of these steps fails.
Status run_with_observer(Compilation& compilation, StageObserver& stage_observer);
inline Status run_with_observer(Compilation&& compilation, StageObserver& stage_observer) {
  return run_with_observer(compilation, stage_observer);
}

}  // namespace tgc
