// Compilation: a graph and its position in the list of stages (stage_rows.h).
//
//   auto c = Compilation::begin(std::move(graph), {.target = "CPU:LLVM"});
//   while (c->next_row()) c->run_step();                 // or run_through_stage(get_stage_row("expander"))
//   std::string source = *c->row_output(get_stage_row(OutputKind::Source));
//
// run_step() does not make the outputs of compilers; row_output() makes them on request.
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
  // DEVICE[:RENDERER[:ARCH]]. If empty: CPU, or for a kernel of a tensor graph target_of_device() of its first buffer.
  std::string target = {};
  std::string opts = {};  // opts as text, "[Opt(...)]"; empty: those of the AST, else the optimizer chooses
  // For the result of a stage: whether the optimizer, and the stages that depend on it, run. Ignored for an AST, for
  // which begin_kernel() decides.
  std::optional<bool> should_optimize = {};
  // For each kernel name, the number of earlier kernels that have it. The second kernel "E_4" is named "E_4n1".
  std::map<std::string, int> kernel_name_counts = {};
  CompileOptions compile_options = {};
};

class Compilation;

// Receives the events of a compilation. end_compilation() also follows errors. The Compilation may move between two
// events, so an observer must not keep a pointer to it.
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
  // or TGC_FAULT is invalid, or if the graph is of another release than 0.12.0.
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
  // the row that ran last; before the first row runs, input_stage(), or the row "linear" if the input is a linear list
  const StageRow* last_row() const;
  // the row that run_step() will run; null if there is none, or after run_step() failed
  const StageRow* next_row() const;

  // ---- running
  struct StepResult {
    const StageRow* row = nullptr;
    UOp before, after;  // the graph before and after the row
    bool has_changed() const { return !(before == after); }
  };
  // Runs the next row. Fails if there is none. After a row fails, later calls return the same error.
  Result<StepResult> run_step();
  // Runs the rows from next_row() up to and including `row`. Skips stages that do not apply to this graph.
  Status run_through_stage(const StageRow& row);

  // ---- outputs; functions that return a Result first run the rows that they need
  Result<std::string> row_output(const StageRow& row);  // text or bytes
  // The functions from here up to kernel_name_counts() are only for a kernel.
  const Result<std::vector<UOp>>& list();
  const Result<std::string>& source();                    // the text that the target's renderer prints
  Result<KernelOutputs*> outputs();                       // owned by the Compilation
  Result<CompileJob> make_compile_job();
  // CompilationSpec::kernel_name_counts, to which the optimizer adds the name of this kernel. Not for linear lists.
  const std::map<std::string, int>& kernel_name_counts() const;
  // The functions from here up to kernels() are only for a tensor graph.
  const Result<Schedule>& schedule();      // fails if the input is the result of a stage, or if a step fails
  Result<std::string> schedule_as_json();
  Sha256 schedule_key();                   // tinygrad's key of the schedule cache; call it after schedule()
  double schedule_seconds() const;
  const TensorJob& tensor_job() const;
  // ---- kernels of a tensor graph: the items of the schedule whose AST is a SINK. Item 3 of the schedule of NAME is
  // named NAME.3. After schedule(), several threads may call kernel(), because each kernel has its own Graph.
  std::vector<size_t> kernel_numbers();
  std::string kernel_name(size_t number) const;
  std::string kernel_target(size_t number);
  std::string kernel_user_operation(size_t number) const;  // see InputGraph::user_operation
  Result<Compilation> kernel(size_t number);
  Result<std::vector<Compilation>> kernels();

  // ---- copies, the input, and the observer
  // Returns a Compilation at the same position, with its own Graph. After an output, returns one at the last graph
  // stage. Runs the rows of a tensor graph again. Fails for a linear list, and after an error.
  Result<Compilation> fork() const;

  // Removes the observer and the seeded faults, and returns the input.
  InputGraph take_input() &&;

  // Calls end_compilation() of the previous observer, then begin_compilation() of `stage_observer`. Null removes the
  // observer.
  void set_stage_observer(StageObserver* stage_observer);

 private:
  struct State;
  Result<std::string> schedule_text(bool as_json);
  explicit Compilation(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Sends the events of a compilation to `stage_observer`: runs the stages of a kernel, and makes its linear list; or
// runs the stages of a tensor graph, schedules it, and then compiles each of its kernels. Fails for a linear list, or
// if one of these steps fails.
Status run_with_observer(Compilation& compilation, StageObserver& stage_observer);
inline Status run_with_observer(Compilation&& compilation, StageObserver& stage_observer) {
  return run_with_observer(compilation, stage_observer);
}

}  // namespace tgc
