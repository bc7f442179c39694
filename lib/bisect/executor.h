// Runs a failing kernel again, as it is or changed.
#pragma once
#include <memory>

#include "lib/bisect/failure_repro.h"
#include "lib/compilation/rewrite_log.h"
#include "lib/validate/compare_outputs.h"
#include "lib/validate/rewrite_equivalence.h"

namespace tgc {

// A compilation of the failing kernel that recorded every rewrite, and the run of its result.
struct ObservedRun {
  explicit ObservedRun(Compilation c) : compilation(std::move(c)) {}

  RewriteLog application_log;
  Compilation compilation;
  std::vector<UOp> linear_list = {};  // empty if the compilation was refused
  KernelOutcome outcome = {};
  // The comparison of the two sides of each application, in the order of the log. Empty or shorter than the log if not
  // all were compared.
  std::vector<EquivalenceResult> compared_sides = {};
  std::string comparison_error = {};  // why compare_sides() failed; empty if it did not
  std::map<uint32_t, KernelOutcome> graph_outcomes = {};

  size_t index_of_rewrite(const Rewrite& a) const { return size_t(&a - application_log.all_rewrites().data()); }
  EquivalenceResult side_equivalence(
      const Rewrite& a) const;  // returns Kind::Open if the sides of `a` were not compared
  bool are_sides_identical(const Rewrite& a) const;
  // Returns the applications whose sides differ, the most suspicious first.
  std::vector<const Rewrite*> suspect_rewrites() const;
};

class BisectExecutor {
 public:
  // `repro` and `counts` must outlive the executor. Runs are counted in `counts`.
  BisectExecutor(const FailureRepro& repro, BisectCounts& counts)
      : repro_(repro), bisect_counts_(counts), settings_(repro.input_graph.graph->settings()) {}

  // Returns the outcome of the first of two runs, which the first call makes. If the kernel was refused or died, the
  // first call also tests the device with a kernel that stores one number, and throws Failure if this test fails. The
  // first call may raise REWRITE_STACK_LIMIT to its default, because compilations with a watcher need a higher limit.
  const KernelOutcome& first_outcome();
  const KernelOutcome& second_outcome() { return first_outcome(), second_outcome_; }
  bool is_flaky() { return first_outcome().passes() != second_outcome().passes(); }
  // Returns the watched run. The first call compiles the kernel with its rewrites recorded and, except with --cmd, runs
  // the result.
  ObservedRun& observed_run();
  // Compares the two sides of each of the first `most` applications, and sets compared_sides or comparison_error of
  // observed_run().
  void compare_sides(size_t most = SIZE_MAX);
  // Returns the first of first_outcome(), second_outcome() and the outcome of observed_run() that did not pass; a
  // passing one if there is none, or if first_outcome() was not called.
  KernelOutcome failing_or_passing_outcome();

  // Returns a compilation of the kernel, before its first stage.
  Compilation begin_compilation() const { return begin_compilation(repro_.placement.target->name(), settings_); }
  // Returns true if the kernel passes if it is compiled for `target` and runs there; false if any error occurs.
  bool passes_on_target(const std::string& target);
  // Compiles the kernel, unless it is a linear list, or continues the compilation `c`. Runs the result, and returns the
  // outcome. `stage_observer` may observe or suppress rewrites. With --cmd, the command decides the outcome.
  KernelOutcome compile_and_run(StageObserver* stage_observer = nullptr);
  KernelOutcome compile_and_run(Compilation& c, StageObserver* stage_observer = nullptr);
  // Returns true if no rewriting exceeds this REWRITE_STACK_LIMIT when the kernel is compiled.
  bool fits_stack_limit(int64_t rewrite_stack_limit) const;

  // Runs `root`, a graph of the kernel, in REF; a large kernel only in part. With --cmd, the command decides the
  // outcome instead.
  KernelOutcome run_graph(UOp root);
  // Returns run_graph(root) for a graph of observed_run(), and caches the outcome.
  KernelOutcome run_watched_graph(UOp root);

  KernelOutcome run_linear_list(std::span<const UOp> list);  // runs `list` on the kernel's device
  // Returns the executable of `list` for the device and target with which the kernel fails.
  Result<Executable> make_executable(std::span<const UOp> list) const;
  KernelOutcome run_kernel(Executable& kernel, Device& device);
  // Run a list on the device, or in REF. `more` has the arrays for buffers that the list has and the kernel lacks.
  Result<ExecutionResult> run_on_device(std::span<const UOp> list, const Arrays& more = {});
  Result<ExecutionResult> run_in_ref(std::span<const UOp> list, const Arrays& more = {});
  // Returns true if the list stores the same values on the device and in REF, within the tolerance for two devices.
  bool device_matches_ref(std::span<const UOp> list, const Arrays& more = {});
  // Returns false if the unchanged linear list stores other values in REF than on the device, or fails in only one of
  // them. Runs of other graphs in REF then prove nothing about the device. Returns true if REF cannot tell.
  bool does_ref_agree();
  ToleranceOptions tolerance_for_array(const Array& expected) const {
    return CompareOptions().tolerance_for(repro_.input_graph.root, expected);
  }
  KernelOutcome compare_execution(const Result<ExecutionResult>& done);

 private:
  Compilation begin_compilation(const std::string& target, const Settings& settings) const;
  void throw_if_cancelled() const;
  KernelOutcome run_stages(Compilation& c);
  KernelOutcome run_command(UOp root);
  KernelOutcome run_truncated_graph(UOp root);

  const FailureRepro& repro_;
  BisectCounts& bisect_counts_;
  Settings settings_;
  bool has_run_ = false, may_depend_on_rounding_ = true;
  KernelOutcome first_outcome_, second_outcome_;
  std::optional<bool> does_ref_agree_;
  std::unique_ptr<ObservedRun> observed_run_;
  struct KnownOutcome {
    KernelOutcome outcome;
    int num_requests = 0;
  };
  std::map<std::string, KnownOutcome> known_outcomes_;
};

}  // namespace tgc
