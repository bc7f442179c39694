// Runs a failing kernel again: unchanged, with its rewrites recorded ("watched"), or with some rewrites suppressed.
// Also runs the graphs between two stages in REF, and runs changed linear lists. Functions that begin a compilation or
// run a graph throw Failure if the session is cancelled.
#pragma once
#include <memory>

#include "lib/bisect/failure_repro.h"
#include "lib/compilation/rewrite_log.h"
#include "lib/validate/compare_outputs.h"
#include "lib/validate/rewrite_equivalence.h"

namespace tgc {

// A compilation of the failing kernel that recorded every rewrite, and the run of its result.
struct WatchedRun {
  explicit WatchedRun(Compilation c) : compilation(std::move(c)) {}

  ApplicationLog application_log;
  Compilation compilation;
  std::vector<UOp> linear_list = {};  // the linear list; empty if the compilation was refused
  Outcome outcome = {};
  // The comparison of the two sides of each application, in the order of the log. Empty until compare_sides() ran, or
  // if it failed; shorter than the log if compare_sides() had a limit.
  std::vector<EquivalenceResult> compared_sides = {};
  std::string comparison_error = {};  // why compare_sides() could not compare the sides; empty if it could
  std::map<uint32_t, Outcome> graph_outcomes = {};  // cache of Executor::run_watched_graph, by node id of the SINK

  size_t index_of(const Application& a) const { return size_t(&a - application_log.all_rewrites().data()); }
  EquivalenceResult sides_of(const Application& a) const;  // Kind::Open if the sides of `a` were not compared
  // Returns whether both sides of `a` were compared and are equal to the last bit; 0.0 and -0.0 count as different.
  bool is_exactly_same(const Application& a) const;
  // Returns the applications whose sides differ. Those whose sides differ by more than rounding come first; among
  // equals, those of rules with a known counterexample. Otherwise the order is that of the log, where a nested rewrite
  // precedes the rewrite that contains it.
  std::vector<const Application*> suspects() const;
};

class Executor {
 public:
  // `repro` and `counts` must outlive the executor. Every run is counted in `counts`.
  Executor(const FailureRepro& repro, BisectCounts& counts)
      : repro_(repro), counts_(counts), settings_(repro.input_graph.graph->settings()) {}

  // ---- the unchanged kernel
  // These two functions return the outcomes of two runs, which the first call makes. If the kernel was refused or died,
  // this call then tests the device with a kernel that stores one number, and throws Failure if this kernel fails, too.
  // The call also raises REWRITE_STACK_LIMIT to its default (unless a graph rewrite does not end), because compilations
  // with a watcher need a higher limit than others.
  const Outcome& first_outcome();
  const Outcome& second_outcome() { return first_outcome(), second_outcome_; }
  bool is_flaky() { return first_outcome().passes() != second_outcome().passes(); }
  // Returns the watched run. The first call compiles the kernel with its rewrites recorded, and runs the result (with
  // --each-stage, also the graph after each stage, in REF). With --cmd, it only compiles.
  WatchedRun& watched_run();
  // Compares the two sides of each of the first `most` applications, and stores the results in
  // watched_run().compared_sides. If that fails, sets watched_run().comparison_error.
  void compare_sides(size_t most = SIZE_MAX);
  // Returns the first outcome that did not pass, of those of first_outcome(), second_outcome() and watched_run().
  // Passes if all passed so far, or if first_outcome() was not called.
  Outcome failing_outcome();

  // ---- new compilations of the kernel
  // Returns a new compilation of the kernel, before its first stage.
  Compilation begin_compilation() const { return begin_compilation(repro_.placement.target->name(), settings_); }
  // Returns whether the kernel passes if it is compiled for `target` and runs there; false if any error occurs.
  bool passes_on(const std::string& target);
  // Compile the kernel, or the rest of the compilation `c`, run the result (with --each-stage, also the graph after
  // each stage, in REF), and return the outcome. `watcher` may observe or suppress rewrites. A repro that is a linear
  // list is only run. With --cmd, the command decides the outcome.
  Outcome attempt(Watcher* watcher = nullptr);
  Outcome attempt(Compilation& c, Watcher* watcher = nullptr);
  // Returns true if no rewriting exceeds this REWRITE_STACK_LIMIT when the kernel is compiled.
  bool fits_stack_limit(int64_t rewrite_stack_limit) const;

  // ---- the graph between two stages
  // Runs `root`, the kernel's graph after any stage, in REF. If the kernel is large, shortens the outer loops, and
  // compares only some of the elements that are then stored. With --cmd, the command decides the outcome instead.
  Outcome run_graph(UOp root);
  // Returns run_graph(root) for a graph of watched_run(), and caches the outcome.
  Outcome run_watched_graph(UOp root);

  // ---- linear lists
  Outcome run_list(std::span<const UOp> list);  // runs `list` on the kernel's device and compares the results
  // Returns the executable of `list` for the device and target with which the kernel fails.
  Result<Executable> make_executable(std::span<const UOp> list) const;
  Outcome run_kernel(Executable& kernel, Device& device);
  // Run a list on the device, or in REF. `more` has the arrays for buffers that the list has and the kernel lacks.
  Result<Execution> run_on_device(std::span<const UOp> list, const Arrays& more = {});
  Result<Execution> run_in_ref(std::span<const UOp> list, const Arrays& more = {});
  // Returns true if the list stores the same values on the device and in REF, within the tolerance for two devices;
  // false if one of the two cannot run it.
  bool is_same_in_ref(std::span<const UOp> list, const Arrays& more = {});
  // Returns true if the unchanged linear list stores the same values in REF and on the device, or dies in both. If it
  // does not, runs of other graphs in REF prove nothing about the device. Also true if that is unknown: REF or the
  // device rejects the list, the kernel is too large for REF, or a command decides (--cmd).
  bool does_ref_agree();
  ToleranceOptions tolerance(const Array& expected) const {
    return CompareOptions().tolerance_for(repro_.input_graph.root, expected);
  }
  // Compares the results of a run with the expected ones.
  Outcome compare_execution(const Result<Execution>& done);

 private:
  Compilation begin_compilation(const std::string& target, const Settings& settings) const;
  void throw_if_cancelled() const;
  Outcome run_stages(Compilation& c);
  Outcome run_command(UOp root);
  Outcome run_truncated(UOp root);

  const FailureRepro& repro_;
  BisectCounts& counts_;
  Settings settings_;
  bool has_run_ = false, may_depend_on_rounding_ = true;
  Outcome first_outcome_, second_outcome_;
  std::optional<bool> does_ref_agree_;
  std::unique_ptr<WatchedRun> watched_run_;
  struct KnownOutcome {
    Outcome outcome;
    int num_requests = 0;  // number of requests to run this source again
  };
  std::map<std::string, KnownOutcome> outcomes_;  // by source code; a source is run at most twice
};

}  // namespace tgc
