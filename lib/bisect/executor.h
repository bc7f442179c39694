// Runs a failing kernel again: unchanged, with its rewrites recorded ("watched"), or without some rewrites. Also runs
// in REF the graphs between two stages, and runs changed linear lists. Throws Failure when the session is cancelled.
#pragma once
#include <memory>

#include "lib/bisect/failure_repro.h"
#include "lib/compilation/rewrite_log.h"
#include "lib/validate/compare_outputs.h"
#include "lib/validate/rewrite_equivalence.h"

namespace tgc {

// The failing kernel compiled with every rewrite recorded, and run.
struct WatchedRun {
  explicit WatchedRun(Compilation c) : compilation(std::move(c)) {}

  ApplicationLog log;
  Compilation compilation;
  std::vector<UOp> list = {};  // the linear list; empty if the compilation was refused
  Outcome outcome = {};
  // The comparison of both sides of each application, in the order of the log. Shorter if compare_sides() had a limit.
  std::vector<EquivalenceResult> sides = {};
  std::string comparison_error = {};
  std::map<uint32_t, Outcome> graph_outcomes = {};  // cache of Executor::run_watched_graph, by node id of the SINK

  size_t index_of(const Application& a) const { return size_t(&a - log.list().data()); }
  EquivalenceResult sides_of(const Application& a) const;  // Kind::Open if they were not compared
  // Returns whether both sides of `a` are equal to the last bit; 0.0 and -0.0 count as different.
  bool is_exactly_same(const Application& a) const;
  // Returns the applications whose sides differ. Those whose sides differ by more than rounding come first; within
  // these two groups, the order is that of the log, where a nested rewrite precedes the rewrite that contains it.
  std::vector<const Application*> suspects() const;
};

class Executor {
 public:
  // `repro` and `counts` must outlive the executor. Every run is counted in `counts`.
  Executor(const FailureRepro& repro, BisectCounts& counts)
      : repro_(repro), counts_(counts), settings_(repro.in.graph->settings()) {}

  // ---- the unchanged kernel
  // first() and second() return the outcomes of two runs. The first call makes both runs. It throws Failure if the
  // device cannot even run a kernel that stores one number. It also raises REWRITE_STACK_LIMIT to its default (unless a
  // rewrite does not end), because watched compilations need more than unwatched ones.
  const Outcome& first();
  const Outcome& second() { return first(), second_; }
  bool is_flaky() { return first().passes() != second().passes(); }
  // The first call compiles the kernel with its rewrites recorded, and runs it (with --cmd, does not run it).
  WatchedRun& watched();
  // Compares the two sides of each of the first `most` applications, and stores the results in watched().sides.
  void compare_sides(size_t most = SIZE_MAX);
  // Returns the outcome of the first run that did not pass: of first(), second() and watched().
  Outcome failure();

  // ---- the kernel compiled again
  Compilation begin() const { return begin(repro_.place.target->name(), settings_); }
  // Returns whether the kernel passes if it is compiled for `target` and runs there; false if any error occurs.
  bool passes_on(const std::string& target);
  Outcome attempt(Watcher* watcher = nullptr);
  Outcome attempt(Compilation& c, Watcher* watcher = nullptr);
  // Returns whether every rewrite of the compilation ends if REWRITE_STACK_LIMIT is `rewrite_stack_limit`.
  bool ends_with_limit(int64_t rewrite_stack_limit) const;

  // ---- a graph
  // Runs the kernel's graph, as it is after any stage, in REF. If the kernel is large, shortens its outer loops, and
  // compares only the elements that are then stored. With --cmd, the command decides the outcome instead.
  Outcome run_graph(UOp root);
  // Returns run_graph(root) for a graph of watched(), and caches the outcome.
  Outcome run_watched_graph(UOp root);

  // ---- a linear list
  Outcome run_list(std::span<const UOp> list);
  // Returns the executable of a list for the device and target for which the kernel fails.
  Result<Executable> executable(std::span<const UOp> list) const;
  Outcome run(Executable& kernel, Device& device);
  // Run a list on the device, or in REF. `more` holds arrays for buffers that the list has and the kernel lacks.
  Result<Execution> run_on_device(std::span<const UOp> list, const Arrays& more = {});
  Result<Execution> run_in_ref(std::span<const UOp> list, const Arrays& more = {});
  // Returns whether the list stores the same values on the device and in REF, within the tolerance for two devices.
  bool is_same_in_ref(std::span<const UOp> list, const Arrays& more = {});
  // Returns whether REF and the device do the same with the unchanged list: both store the same values, or both die. If
  // not, what REF says of other graphs proves nothing about the device. True if the device or REF cannot run the list.
  bool does_ref_agree();
  ToleranceOptions tolerance(const Array& expected) const {
    return CompareOptions().tolerance_for(repro_.in.root, expected);
  }
  // Compares the results of a run with the expected ones.
  Outcome compare(const Result<Execution>& done);

 private:
  Compilation begin(const std::string& target, const Settings& settings) const;
  void throw_if_cancelled() const;
  Outcome run_stages(Compilation& c);
  Outcome run_command(UOp root);
  Outcome run_truncated(UOp root);

  const FailureRepro& repro_;
  BisectCounts& counts_;
  Settings settings_;
  bool has_run_ = false, may_depend_on_rounding_ = true;
  Outcome first_, second_;
  std::optional<bool> does_ref_agree_;
  std::unique_ptr<WatchedRun> watched_;
  struct Known {
    Outcome outcome;
    int repeats = 0;
  };
  std::map<std::string, Known> outcomes_;  // by source code, because each source is compiled and run at most twice
};

}  // namespace tgc
