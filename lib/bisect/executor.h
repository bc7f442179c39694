// Runs a failing kernel again: unchanged, watched, without some of its rewrites, a graph between two stages in REF, or
// a linear list that is compiled in another way. Throws Failure when the session is cancelled.
#pragma once
#include <memory>

#include "lib/bisect/failure_repro.h"
#include "lib/trace/applications.h"
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
  // How the sides of each application of the log compare, as far as compare_sides() came.
  std::vector<EquivalenceResult> sides = {};
  std::string comparison_error = {};
  std::map<uint32_t, Outcome> graph_outcomes = {};  // of Executor::run_watched_graph, by id of the sink

  size_t index_of(const Application& a) const { return size_t(&a - log.list().data()); }
  EquivalenceResult sides_of(const Application& a) const;  // Open if they were not compared
  // Whether the sides are equal to the last bit, the sign of a zero included.
  bool is_exactly_same(const Application& a) const;
  // The applications whose sides differ: those beyond rounding first, then in the order of the log, so the inner one of
  // two nested rewrites comes first.
  std::vector<const Application*> suspects() const;
};

class Executor {
 public:
  // Both must outlive the executor. Every run is counted.
  Executor(const FailureRepro& repro, BisectCounts& counts)
      : repro_(repro), counts_(counts), settings_(repro.in.graph->settings()) {}

  // ---- the kernel as it is
  // Two plain runs, made at the first call. Afterwards REWRITE_STACK_LIMIT is at least its default unless a rewrite
  // does not end: a case may set just the limit that it needs, and watched compilations need more. Throws Failure if
  // the kernel dies or is refused, and so is a kernel that stores a number: then the environment is at fault.
  const Outcome& first();
  const Outcome& second() { return first(), second_; }
  bool is_flaky() { return first().passes() != second().passes(); }
  // Made at the first call. With --cmd the kernel is only compiled.
  WatchedRun& watched();
  // Fills watched().sides for the first `most` applications.
  void compare_sides(size_t most = SIZE_MAX);
  // The first of these runs that did not pass.
  Outcome failure();

  // ---- the kernel compiled again
  Compilation begin() const { return begin(repro_.place.target->name(), settings_); }
  // Compiled for `target`, and run there. Any trouble counts as a failure.
  bool passes_on(const std::string& target);
  Outcome attempt(Watcher* watcher = nullptr);
  Outcome attempt(Compilation& c, Watcher* watcher = nullptr);
  // Whether each rewrite of the compilation ends with that REWRITE_STACK_LIMIT.
  bool ends_with_limit(int64_t rewrite_stack_limit) const;

  // ---- a graph
  // Runs a graph after any stage in REF. If the kernel is not small, its outer loops are truncated, and the elements
  // that it then stores are compared. With --cmd the command decides.
  Outcome run_graph(UOp root);
  // The same for a graph of watched(), at most once each.
  Outcome run_watched_graph(UOp root);

  // ---- a linear list
  Outcome run_list(std::span<const UOp> list);
  // Returns the executable of a list for the place where the kernel fails.
  Result<Executable> executable(std::span<const UOp> list) const;
  Outcome run(Executable& kernel, Device& device);
  // Run a list that takes `more` arrays than the kernel.
  Result<Execution> run_on_device(std::span<const UOp> list, const Arrays& more = {});
  Result<Execution> run_in_ref(std::span<const UOp> list, const Arrays& more = {});
  // Whether the device and REF store the same, up to the tolerance between two devices.
  bool is_same_in_ref(std::span<const UOp> list, const Arrays& more = {});
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
  std::unique_ptr<WatchedRun> watched_;
  struct Known {
    Outcome outcome;
    int repeats = 0;
  };
  std::map<std::string, Known> outcomes_;  // by source: each is compiled and run twice at most
};

}  // namespace tgc
