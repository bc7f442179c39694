// Compilation: one graph at one place in the complete list of stages (stage_rows.h). Every front end drives the
// pipeline through it, and nothing else does: dump, run, check, trace, stats, bench and the tests all step one of
// these.
//
//   auto c = Compilation::begin(std::move(loaded), {.target = "CPU:LLVM"});
//   while (c->next()) c->step();                 // or c->run_through(row_of("expander"))
//   std::string source = *c->output(row_of(OutputKind::Source));
//
// Where it is, `next()` says: a tensor graph goes through its stages into a schedule, whose kernels are Compilations of
// their own; a kernel goes through its stages, then the linear list, the source and the launch facts are made. What
// only compilers make is no step: output() makes it when it is asked for.
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

// What is decided about one graph before its first stage runs.
struct JobSpec {
  // DEVICE[:RENDERER[:ARCH]]; of a tensor graph it may be empty: each kernel for its buffers' device
  std::string target = {};
  std::string opts = {};              // the optimizer's list as text, "[Opt(...)]"; empty: tinygrad's heuristic
  std::optional<bool> optimize = {};  // of a graph after a stage: whether its AST was to be optimized; default: it was
  // of a schedule's kernel: the names given to kernels before it, of which the second "E_4" is "E_4n1"
  std::map<std::string, int> name_counts = {};
  CompileOptions compile = {};  // how what compilers make is shown
};

class Compilation;

// Is told what a compilation does. Between `stage` and `stage_end` that row runs, and the rewrites of its graph may be
// observed (RewriteObserver). `end` comes before the graph is freed, whatever happened, so that a watcher never looks
// at a graph that is gone. A Compilation may move between two calls: a watcher keeps no pointer to it.
class Watcher {
 public:
  virtual ~Watcher() = default;
  virtual void begin(Compilation& /*what*/) {}
  virtual void stage(const StageRow& /*row*/, UOp /*input*/) {}
  virtual void stage_end(const StageRow& /*row*/, UOp /*result*/) {}  // the empty UOp: the stage failed
  virtual void end(Compilation& /*what*/) {}
};

class Compilation {
 public:
  // The graph before its first stage or, when it says which stage it is the result of, after that one. Errors: a
  // target, a list of opts or a stage that there is not.
  static Result<Compilation> begin(InputGraph graph, JobSpec spec);
  Compilation(Compilation&&) noexcept;
  Compilation& operator=(Compilation&&) noexcept;
  ~Compilation();

  // ---- where it is
  const std::string& name() const;
  const InputGraph& loaded() const;
  const JobSpec& spec() const;
  Graph& graph() const;
  bool is_tensor_graph() const;
  const Target& target() const;    // of a kernel
  UOp ast() const;                 // the graph as the first stage took it
  UOp current() const;             // as it is now; of a linear list its last node
  const StageRow* begun_at() const;  // the row whose result was given; null: before the first
  const StageRow* at() const;      // the row that has run last; begun_at() when none has
  const StageRow* next() const;    // the row that step() runs; null: it is done, or a stage failed

  // ---- going on
  struct Step {
    const StageRow* row = nullptr;
    UOp before, after;             // of a graph stage: the same node when it changed nothing
    bool changed() const { return !(before == after); }
  };
  // Runs the next row. The Diag of a graph that the pipeline refuses names stage and node; there is no way on from it.
  Result<Step> step();
  // Runs rows until `row` has run, or would have: a stage that does not apply to this graph is passed over.
  Status run_through(const StageRow& row);

  // ---- what is made of it; each runs what is missing on the way
  const Result<std::vector<UOp>>& list();    // of a kernel: the linear list
  const Result<std::string>& source();       // of a kernel: what its target's renderer prints
  Result<KernelOutputs*> outputs();          // of a kernel: all that is made of its list; it lives in here
  const Result<Schedule>& schedule();        // of a tensor graph whose every stage this Compilation ran
  Result<std::string> output(const StageRow& row);  // the text (or bytes) of any row behind the graph stages
  const std::map<std::string, int>& name_counts() const;  // of a kernel: those before it and its own
  double schedule_seconds() const;           // of a tensor graph: how long its stages and schedule took so far
  const TensorJob& tensor_job() const;       // of a tensor graph: what its stages noted
  Sha256 schedule_key();                     // of a scheduled tensor graph: by which tinygrad knows equal ones
  Result<std::string> schedule_as_json();    // of a tensor graph: its schedule for programs
  Result<CompileJob> compile_job();          // of a kernel: what its target's compiler is to compile
  // ---- the kernels of a scheduled tensor graph, each in a Graph of its own, so that several threads may ask for them
  // once schedule() is there. Number 3 of the schedule NAME is called NAME.3; the numbers of what only copies or views
  // are left out.
  std::vector<size_t> kernel_numbers();
  std::string kernel_name(size_t number) const;
  std::string kernel_target(size_t number);  // the graph's own, else that of the device of its buffers
  std::string kernel_made_for(size_t number) const;  // where the graph's record says so; else empty
  Result<Compilation> kernel(size_t number);
  Result<std::vector<Compilation>> kernels();  // all of them

  // Another one at the same place, in a Graph of its own: to try something else from here.
  Result<Compilation> fork() const;

  // The graph as it was given, back again.
  InputGraph take() &&;

  // Who is told from now on; null: nobody. It is told of `begin` at once, and the one before it of `end`.
  void watch(Watcher* watcher);

 private:
  struct State;
  using ScheduleText = std::string(const Schedule&, const MemoryPlan&, const Sha256& key,
                                   std::span<const std::string> made_for);
  Result<std::string> schedule_text(ScheduleText* write);
  explicit Compilation(std::unique_ptr<State> state);
  std::unique_ptr<State> s_;
};

// Runs the whole pipeline over the graph for a watcher: its stages up to the linear list and, of a tensor graph, those
// of each of its kernels, one after the other.
Status run_watched(Compilation compilation, Watcher& watcher);

}  // namespace tgc
