// The strategies of bisection. Each strategy is a function that looks for one kind of culprit of a failing kernel. It
// returns the verdict, or nullopt if it found none, and throws Failure if no verdict is possible. bisect.cpp has the
// order of the strategies. A comment "In x.cpp" names the file of a definition.
#pragma once
#include <functional>
#include <optional>

#include "lib/bisect/executor.h"
#include "lib/live/tinygrad_process.h"
#include "lib/run/run.h"

namespace tgc {

// Checks whether the input kernel itself dies in REF, before any rewrite. In crash.cpp.
std::optional<Verdict> find_kernel_fault(const FailureRepro& repro, BisectExecutor& executor);

// Checks whether an iteration of the input kernel loads an element that another iteration stores. In hazard.cpp.
std::optional<Verdict> find_hazard_between_iterations(const FailureRepro& repro, BisectExecutor& executor);

// Checks whether tgc crashes, or does not end in time, while it compiles the kernel in a worker. In crash.cpp.
std::optional<Verdict> find_compiler_crash(const FailureRepro& repro, BisectExecutor& executor);

// If the stage 'add control flow' cannot order the loops, finds the first stage that ends a loop twice. In
// double_end.cpp.
std::optional<Verdict> find_double_end(const FailureRepro& repro, BisectExecutor& executor);

// Finds why the rewriting of a stage does not end: a wrong rewrite, a cycle of rules, or only a deep graph. In
// endless.cpp.
std::optional<Verdict> find_endless_rewrite(const FailureRepro& repro, BisectExecutor& executor);
// Returns the last cycle of a log: the applications since the last rewritten node was rewritten before, or else those
// whose rules repeat. If no short cycle is found, returns the end of the log.
std::span<const Rewrite> last_rewrite_cycle(std::span<const Rewrite> all);

// Finds the wrong shortcut (lib/rewrite/shortcut.h) if only unobserved or only observed rewriting makes the kernel
// fail. In shortcut.cpp.
std::optional<Verdict> find_wrong_shortcut(const FailureRepro& repro, BisectExecutor& executor);

// Evaluates both sides of every rewrite in REF at a few points, and tries to prove that a rewrite whose sides differ is
// the culprit. In evaluate_rewrites.cpp.
std::optional<Verdict> evaluate_rewrites(const FailureRepro& repro, BisectExecutor& executor);
// Names a rewrite whose sides clearly differ, although there is no proof that it is the culprit. In
// evaluate_rewrites.cpp.
std::optional<Verdict> name_unproven_rewrite(const FailureRepro& repro, BisectExecutor& executor);

// Looks for rewrites without which the kernel passes if they are suppressed together. In veto.cpp.
std::optional<Verdict> veto_rewrites(const FailureRepro& repro, BisectExecutor& executor);

// Searches for a stage, and then for a rewrite of it, that makes the graph wrong in REF. In binary_search.cpp.
std::optional<Verdict> search_rewrites(const FailureRepro& repro, BisectExecutor& executor);
// The strategy for --cmd: a shell command decides which graphs fail. Always returns a verdict. In binary_search.cpp.
std::optional<Verdict> search_by_command(const FailureRepro& repro, BisectExecutor& executor);
// Returns the first stage that fails, or after which the graph is wrong in REF; null if none is found. Binary-searches,
// except with --each-stage, so it may miss the first one, and finds none if the last graph is right. In
// binary_search.cpp.
const StageRun* first_wrong_stage(const FailureRepro& repro, BisectExecutor& executor);

// Finds out whether a stage, the renderer, the compiler or the device refuses the kernel. In backend.cpp.
std::optional<Verdict> find_refusal(const FailureRepro& repro, BisectExecutor& executor);
// Finds out whether the renderer, the compiler or the device is the culprit, if first_wrong_stage() finds no stage. In
// backend.cpp.
std::optional<Verdict> bisect_backend(const FailureRepro& repro, BisectExecutor& executor);
// Finds a node that the renderer prints wrongly, in a list that is right in REF and wrong on the device: the results
// are right once the node's users read its right value from an array. Returns the empty UOp if no such node is found.
// `stores_words`: see ObservedList. In first_wrong_node.cpp.
UOp first_wrong_node(BisectExecutor& executor, std::span<const UOp> list, bool stores_words = false);

// Compares the compilation of `in` with a golden record. If they differ, the verdict is about the first differing
// stage. In divergence.cpp.
std::optional<Verdict> find_divergence(const Session& session, const InputGraph& in, const GoldenRecord& record);

// Compares the compilation of `in`, which must name a target, with that of a running tinygrad, up to `stage` (empty:
// all stages). Throws Failure if tinygrad does not answer, or refuses a kernel that tgc accepts. In divergence.cpp.
std::optional<Verdict> find_divergence(const Session& session, const InputGraph& in, TinygradProcess& tinygrad,
                                       const std::string& stage);

// A model or tensor graph. run() runs all of its kernels with the options that it is called with.
struct ModelRepro {
  const Session& session;
  RunOptions options;
  std::function<ModelReport(const RunOptions&)> run;
};

struct ModelOutcome {
  ModelReport report;
  size_t num_compared_kernels = 0;  // number of kernels that were compared with REF
  std::string kernel_fault;  // the error of the first kernel whose AST itself fails in REF; "" if there is none
};

// Checks whether a kernel of the schedule fails in REF, or the results differ from those of the graph itself in REF or,
// if REF cannot run the graph, of a schedule without fusion. Looks for the rewrite, or the missing edge between two
// kernels, that causes this. Returns nullopt if the schedule did not cause the run's error. In schedule.cpp.
std::optional<Verdict> check_schedule(const ModelRepro& repro, const ModelOutcome& outcome, BisectCounts& counts);

}  // namespace tgc
