// Compilation: a graph and its position in the list of stages (stage_rows.h). Code outside of passes/ runs tgc's own
// stages by stepping a Compilation.
//
//   auto c = Compilation::begin(std::move(graph), {.target = "CPU:LLVM"});
//   while (c->next_row()) c->run_step();                 // or c->run_through(row_of("expander"))
//   std::string source = *c->row_output(row_of(OutputKind::Source));
//
// The steps of a tensor graph are its stages and the schedule. Each kernel of the schedule is a Compilation of its own.
// The steps of a kernel are its stages, the linear list, the source and the launch facts. Outputs of compilers are not
// steps: row_output() makes them on request.
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
struct JobSpec {
  // DEVICE[:RENDERER[:ARCH]]. If empty, the target of a kernel of a tensor graph is that of its buffers' device, and
  // the target of any other kernel is CPU.
  std::string target = {};
  std::string opts = {};  // opts as text, "[Opt(...)]"; empty: those of the AST, else the optimizer chooses
  // For the result of a stage: whether the stages that depend on the optimizer run; unset: they do. For an AST, its tag
  // decides (begin_kernel).
  std::optional<bool> optimize = {};
  // By kernel name: how many earlier kernels of the schedule have this name. The second kernel "E_4" is named "E_4n1".
  std::map<std::string, int> name_counts = {};
  CompileOptions compile_options = {};  // options for the outputs of compilers
};

class Compilation;

// Receives the events of a compilation: begin_stage() before each row runs, and end_stage() after it. To see the
// rewrites in a row, attach a RewriteObserver to the graph. end_compilation() is called when the watcher is removed or
// the compilation is destroyed, also after errors. The Compilation may move between two events, so a watcher must not
// keep a pointer to it.
class Watcher {
 public:
  virtual ~Watcher() = default;
  virtual void begin_compilation(Compilation& /*what*/) {}
  virtual void begin_stage(const StageRow& /*row*/, UOp /*input*/) {}
  virtual void end_stage(const StageRow& /*row*/, UOp /*result*/) {}  // `result` is empty if the row failed
  virtual void end_compilation(Compilation& /*what*/) {}
};

class Compilation {
 public:
  // Begins a compilation before the first stage, or after the stage that `graph.info.stage` names. Fails for an unknown
  // target, opts or stage, for a kernel after a stage of tensor graphs and the reverse, for a graph of another tinygrad
  // release, for a kernel without a SINK, and for an invalid TGC_FAULT.
  static Result<Compilation> begin(InputGraph graph, JobSpec spec);
  Compilation(Compilation&&) noexcept;
  Compilation& operator=(Compilation&&) noexcept;
  ~Compilation();

  // ---- state
  const std::string& name() const;
  const InputGraph& input_graph() const;  // the input, with which begin() was called
  const JobSpec& spec() const;
  Graph& graph() const;
  bool is_tensor_graph() const;
  const Target& target() const;         // only for a kernel
  UOp ast() const;                      // the graph before the first step
  UOp current_graph() const;            // the current graph; for a linear list, the last node
  const StageRow* input_stage() const;  // the stage that made the input; null if the input names none or is an AST
  // the row that ran last; if no row has run, input_stage(), or the row "linear" for a linear list
  const StageRow* last_row() const;
  // the row that run_step() will run; null if all rows have run, or after run_step() failed
  const StageRow* next_row() const;

  // ---- running
  struct StepResult {
    const StageRow* row = nullptr;
    UOp before, after;  // the graph before and after the row; only graph stages change it
    bool has_changed() const { return !(before == after); }
  };
  // Runs the next row. If a stage fails, the error names the stage and the node, and later calls return this error.
  Result<StepResult> run_step();
  // Runs all rows up to and including `row`. Skips stages that do not apply to this graph.
  Status run_through(const StageRow& row);

  // ---- outputs; a function that returns a Result first runs the stages that it needs
  Result<std::string> row_output(const StageRow& row);  // text or bytes of the row's output
  // list(), source(), outputs(), compile_job() and name_counts() may only be called for a kernel.
  const Result<std::vector<UOp>>& list();                 // the linear list
  const Result<std::string>& source();                    // the text that the target's renderer prints
  Result<KernelOutputs*> outputs();                       // all outputs, owned by the Compilation
  Result<CompileJob> compile_job();                       // the source, with the facts that a compiler needs
  const std::map<std::string, int>& name_counts() const;  // JobSpec::name_counts plus this kernel; not for linear lists
  // The functions from here up to tensor_job() may only be called for a tensor graph.
  const Result<Schedule>& schedule();      // fails if the input is the result of a stage, or if a step fails
  Result<std::string> schedule_as_json();
  Sha256 schedule_key();                   // the key of tinygrad's schedule cache; to be called after schedule()
  double schedule_seconds() const;         // wall time of the tensor graph's steps so far
  const TensorJob& tensor_job() const;     // state that the tensor graph's stages share
  // ---- kernels of a tensor graph. Kernel 3 of the schedule of NAME is named NAME.3. Items that only copy or view are
  // not kernels. After schedule(), several threads may call kernel(), because each kernel has its own Graph.
  std::vector<size_t> kernel_numbers();
  std::string kernel_name(size_t number) const;
  std::string kernel_target(size_t number);          // JobSpec::target; if empty, the target of the buffers' device
  std::string kernel_made_for(size_t number) const;  // see InputGraph::made_for
  Result<Compilation> kernel(size_t number);
  Result<std::vector<Compilation>> kernels();

  // ---- copies, the input, and the watcher
  // Returns another Compilation at the same position, with its own Graph; after an output (list, source, launch
  // facts), at the last graph stage. Copies the graph of a kernel, but runs the stages of a tensor graph again. Fails
  // for a linear list, and after an error.
  Result<Compilation> fork() const;

  // Returns the input graph. Calls `end_compilation` of the watcher.
  InputGraph take_input() &&;

  // Sets the watcher; null removes it. Calls end_compilation() of the previous watcher, then begin_compilation() of
  // the new one.
  void set_watcher(Watcher* watcher);

 private:
  struct State;
  Result<std::string> schedule_text(bool as_json);
  explicit Compilation(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Runs the whole pipeline with a watcher: the stages of a kernel and its linear list; or the stages of a tensor graph,
// its schedule, and then each of its kernels.
Status run_watched(Compilation& compilation, Watcher& watcher);
inline Status run_watched(Compilation&& compilation, Watcher& watcher) { return run_watched(compilation, watcher); }

}  // namespace tgc
