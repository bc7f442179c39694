// Compilation: one graph and its position in the list of stages (stage_rows.h). dump, run, check, trace, stats, bench
// and the tests all run the pipeline by stepping a Compilation. No other code has a loop over the stages.
//
//   auto c = Compilation::begin(std::move(graph), {.target = "CPU:LLVM"});
//   while (c->next()) c->step();                 // or c->run_through(row_of("expander"))
//   std::string source = *c->output(row_of(OutputKind::Source));
//
// The steps of a tensor graph are its stages and the schedule; each kernel of the schedule is a Compilation of its own.
// The steps of a kernel are its stages, the linear list, the source and the launch facts. Outputs of compilers are not
// steps: output() makes them on request.
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
  // DEVICE[:RENDERER[:ARCH]]. If empty: CPU; but for a kernel of a tensor graph, the device of the kernel's buffers
  std::string target = {};
  std::string opts = {};              // list of optimizer options as text, "[Opt(...)]"; empty: tinygrad's heuristic
  // whether the optimizer runs, if the input is from before it; unset: it runs unless the AST has a tag (begin_kernel)
  std::optional<bool> optimize = {};
  // how often each kernel name was used so far in the schedule: the second kernel "E_4" is named "E_4n1"
  std::map<std::string, int> name_counts = {};
  CompileOptions compile = {};  // options for the outputs that compilers make
};

class Compilation;

// Receives the events of a compilation. A row runs between `stage` and `stage_end`; to see the rewrites of a row,
// attach a RewriteObserver to the graph. `end` is always called before the graph is freed, also after errors. The
// Compilation may be moved between two calls, so a watcher must not keep a pointer to it.
class Watcher {
 public:
  virtual ~Watcher() = default;
  virtual void begin(Compilation& /*what*/) {}
  virtual void stage(const StageRow& /*row*/, UOp /*input*/) {}
  virtual void stage_end(const StageRow& /*row*/, UOp /*result*/) {}  // `result` is empty if the row failed
  virtual void end(Compilation& /*what*/) {}
};

class Compilation {
 public:
  // Begins before the first stage, or after the stage that `graph.info.stage` names. Errors: an unknown target, list of
  // opts or stage; a graph of another tinygrad release; a kernel without a SINK.
  static Result<Compilation> begin(InputGraph graph, JobSpec spec);
  Compilation(Compilation&&) noexcept;
  Compilation& operator=(Compilation&&) noexcept;
  ~Compilation();

  // ---- state
  const std::string& name() const;
  const InputGraph& loaded() const;  // the input
  const JobSpec& spec() const;
  Graph& graph() const;
  bool is_tensor_graph() const;
  const Target& target() const;      // the target; only for a kernel
  UOp ast() const;                   // the graph before the first step
  UOp current() const;               // the current graph; for an input that is a linear list, its last node
  const StageRow* begun_at() const;  // the stage whose result the input is; null: the input is an AST or tensor graph
  const StageRow* at() const;        // the row that ran last; if no row has run, begun_at()
  const StageRow* next() const;      // the row that step() will run; null: all have run, or one failed

  // ---- running
  struct Step {
    const StageRow* row = nullptr;
    UOp before, after;  // the graph before and after; equal unless a graph stage changed it
    bool changed() const { return !(before == after); }
  };
  // Runs the next row. If a stage fails, the error names the stage and the node, and every later call returns it.
  Result<Step> step();
  // Runs all rows up to `row` and `row` itself. Skips stages that do not apply to this graph.
  Status run_through(const StageRow& row);

  // ---- outputs; each call first runs the stages that have not run yet
  Result<std::string> output(const StageRow& row);  // the text or bytes of an output row
  // only for a kernel:
  const Result<std::vector<UOp>>& list();  // the linear list
  const Result<std::string>& source();     // the text that the target's renderer prints
  Result<KernelOutputs*> outputs();        // all outputs; the Compilation owns them
  Result<CompileJob> compile_job();        // the source and what else the target's compiler needs
  const std::map<std::string, int>& name_counts() const;  // JobSpec::name_counts plus this kernel's name; not for lists
  // only for a tensor graph:
  const Result<Schedule>& schedule();      // fails if the input was a stage's result
  Result<std::string> schedule_as_json();
  Sha256 schedule_key();                   // tinygrad's cache key of the tensor graph; valid after schedule()
  double schedule_seconds() const;         // wall time of the tensor graph's steps so far
  const TensorJob& tensor_job() const;     // the state that the tensor graph's stages share
  // ---- kernels of a tensor graph. Kernel 3 of the schedule of NAME is named NAME.3. Schedule items that only copy or
  // view are not kernels. After schedule() has run, several threads may call kernel(), because each kernel has its own
  // Graph.
  std::vector<size_t> kernel_numbers();
  std::string kernel_name(size_t number) const;
  std::string kernel_target(size_t number);  // JobSpec::target; if empty, the target of its buffers' device
  std::string kernel_made_for(size_t number) const;  // InputGraph::made_for of the kernel; empty: not recorded
  Result<Compilation> kernel(size_t number);
  Result<std::vector<Compilation>> kernels();

  // Returns another Compilation at the same position, with its own Graph. The graph of a kernel is copied; the stages
  // of a tensor graph are run again. Fails for a linear list, and after an error.
  Result<Compilation> fork() const;

  // Returns the input graph. Calls `end` of the watcher.
  InputGraph take() &&;

  // Sets the watcher; null: none. Calls `end` of the previous watcher and `begin` of the new one.
  void watch(Watcher* watcher);

 private:
  struct State;
  using ScheduleText = std::string(const Schedule&, const MemoryPlan&, const Sha256& key,
                                   std::span<const std::string> made_for);
  Result<std::string> schedule_text(ScheduleText* write);
  explicit Compilation(std::unique_ptr<State> state);
  std::unique_ptr<State> s_;
};

// Runs the pipeline for a watcher: all stages of a kernel and its linear list; or all stages of a tensor graph, its
// schedule, and then each of its kernels in turn.
Status run_watched(Compilation compilation, Watcher& watcher);

}  // namespace tgc
