// The strategies of bisection. Each strategy is a function that looks for one kind of culprit of a failing kernel. It
// returns the verdict, or nullopt if it found none, and throws Failure if no verdict is possible. bisect.cpp has the
// order in which strategies are tried. Also declares functions that several strategies share. A comment "In x.cpp"
// names the file of a definition.
#pragma once
#include <functional>
#include <optional>

#include "lib/bisect/executor.h"
#include "lib/live/tinygrad_process.h"
#include "lib/run/run.h"

namespace tgc {

// Checks whether the input kernel itself dies in REF, before any rewrite. In crash.cpp.
std::optional<Verdict> find_kernel_fault(const FailureRepro& repro, Executor& executor);

// Checks whether an iteration of the input kernel loads an element that another iteration stores. In hazard.cpp.
std::optional<Verdict> find_hazard_between_iterations(const FailureRepro& repro, Executor& executor);

// Checks whether tgc crashes, or does not end in time, while it compiles the kernel in a worker, and names the last
// rewrite before. The verdict is confirmed if the worker survives without that rewrite. In crash.cpp.
std::optional<Verdict> find_compiler_crash(const FailureRepro& repro, Executor& executor);

// If the stage 'add control flow' cannot order the loops, finds the first stage that ends a loop twice. In
// double_end.cpp.
std::optional<Verdict> find_double_end(const FailureRepro& repro, Executor& executor);

// Finds why the rewriting of a stage does not end: an earlier rewrite is wrong, or rules apply again and again
// (Endless), or the graph is only deep, so that a higher REWRITE_STACK_LIMIT helps (Deep). In endless.cpp.
std::optional<Verdict> find_endless_rewrite(const FailureRepro& repro, Executor& executor);
// Returns the last cycle of a log: the applications since the last rewritten node was rewritten before. If there is no
// such cycle of limited length, returns the shortest sequence of rules that the end of the log repeats three times, or
// else the last few applications.
std::span<const Application> last_cycle(std::span<const Application> all);

// Finds the wrong shortcut if only unobserved or only observed rewriting makes the kernel fail. A shortcut is a fast
// path that replaces a slow function while nothing observes it (lib/rewrite/shortcut.h). In shortcut.cpp.
std::optional<Verdict> find_shortcut(const FailureRepro& repro, Executor& executor);

// Evaluates both sides of every rewrite in REF at a few points. If the sides of a rewrite differ, tries to prove that
// this rewrite is the culprit (veto.h). In evaluate_rewrites.cpp.
std::optional<Verdict> evaluate_rewrites(const FailureRepro& repro, Executor& executor);
// Names a rewrite whose sides clearly differ, although there is no proof that it is the culprit: the only such rule in
// a kernel that is too large for REF, or a rewrite of a stage whose input is right and whose result is wrong. In
// evaluate_rewrites.cpp.
std::optional<Verdict> name_unproven_rewrite(const FailureRepro& repro, Executor& executor);

// Suppresses several rewrites at once, because the kernel may fail as long as one of them applies: all applications of
// the rules that change a value's dtype or number of elements, or two rewrites whose sides differ. In veto.cpp.
std::optional<Verdict> veto_rewrites(const FailureRepro& repro, Executor& executor);

// Binary-searches for the first stage after which the graph is wrong in REF, then for the first rewrite of this stage
// after which the graph is wrong. In binary_search.cpp.
std::optional<Verdict> search_rewrites(const FailureRepro& repro, Executor& executor);
// The strategy for --cmd: binary-searches as search_rewrites() does, but a shell command decides which graphs fail.
// Always returns a verdict. In binary_search.cpp.
std::optional<Verdict> search_by_command(const FailureRepro& repro, Executor& executor);
// Returns the first stage that fails, or after which the graph is wrong in REF. Binary-searches, so it returns null if
// the last graph is right; with --each-stage, tests all graphs in order. If the kernel is too large for REF, shortens
// its loops, so a wrong stage may be missed. In binary_search.cpp.
const StageRun* first_wrong_stage(const FailureRepro& repro, Executor& executor);

// Finds the culprit of a refused kernel if no rewrite is the culprit: the renderer fails or prints a source that does
// not compile; the compiler crashes, times out, or rejects a source that another compiler accepts; or REF rejects the
// kernel. In backend.cpp.
std::optional<Verdict> find_refusal(const FailureRepro& repro, Executor& executor);
// Finds the culprit if the graph is right in REF after every stage, but the device computes something else. For a
// kernel that runs on this computer's CPU, the culprit is (backend.cpp):
//   the compiler, if the kernel passes without LLVM's optional passes (a binary search names the first pass with
//                 which it fails), or if the other compiler compiles the same source correctly
//   the renderer, if the kernel fails with every compiler, and passes with the other renderer or with vectors loaded
//                 and stored element by element (list_variants.h); the wrongly printed node is named if found
//   the device,   if neither the compiler nor the renderer is found to be wrong (Crash if the kernel dies, Unresolved
//                 if it is too large for REF)
std::optional<Verdict> bisect_backend(const FailureRepro& repro, Executor& executor);
// Finds the first node that the renderer prints wrongly, in a list that is right in REF and wrong on the device. Runs
// the list on the device and in REF, with every node's value stored to its own array (list_variants.h). The node whose
// value differs first is the suspect. The suspect is the culprit if the results are right once its users read its right
// value from an array. Returns the empty UOp if no node is proven to be the culprit. `stores_words`: see ObservedList.
// In first_wrong_node.cpp.
UOp first_wrong_node(Executor& executor, std::span<const UOp> list, bool stores_words = false);

// ---- strategies that do not take a FailureRepro

// Compares the compilation of `in` with a golden record, and names the first rewrite of the first differing stage that
// tinygrad does not make. If the record's rewrites do not show it, names the first rewrite whose result is in tgc's
// graph after the stage, but not in the record's. If tinygrad makes a rewrite that tgc lacks, names no rule; the
// verdict's detail describes the missing rewrite. In divergence.cpp.
std::optional<Verdict> find_divergence(const Session& session, const InputGraph& in, const GoldenRecord& record);

// Compares the compilation of `in` with that of a running tinygrad, up to `stage` (empty: all stages). `in` must name a
// target. Throws Failure if tinygrad does not answer, or refuses a kernel that tgc accepts. In divergence.cpp.
std::optional<Verdict> find_divergence(const Session& session, const InputGraph& in, TinygradProcess& tinygrad,
                                       const std::string& stage);

// A failing model or tensor graph. run() runs all of its kernels with the options that it is called with.
struct ModelRepro {
  const Session& session;
  RunOptions options;
  std::function<ModelReport(const RunOptions&)> run;
};

// Result of a run of all kernels in which no kernel was found to be miscompiled.
struct ModelOutcome {
  ModelReport report;
  size_t num_compared_kernels = 0;  // number of kernels that were compared with REF
  std::string kernel_fault;  // the error of an unchanged kernel AST that fails in REF; "" if there is none
};

// Finds the rewrite, or the missing edge between two kernels, that makes a schedule wrong. The schedule is wrong if its
// results differ from the reference: the graph itself in REF or, if REF cannot run the graph, a schedule without
// fusion, which has a kernel for each operation. Compares both sides of each rewrite of the tensor stages in REF, for
// one tensor element (lib/validate/tensor_element.h). The culprit is a rewrite without which the results are right, or
// the only one whose sides differ. If there is none, suppresses each rule, for a limited time; mentions, as a hint
// only, a rule without which the results are right. Returns nullopt if the schedule did not cause the run's error. In
// schedule.cpp.
std::optional<Verdict> check_schedule(const ModelRepro& repro, const ModelOutcome& outcome, BisectCounts& counts);

}  // namespace tgc
