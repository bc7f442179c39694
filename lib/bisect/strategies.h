// The strategies of bisection. Each strategy is a function in a file of this folder. It looks for one kind of
// culprit of a failing kernel and returns the verdict, or nullopt if it found none. bisect.cpp lists the order
// in which they are tried. All of them throw Failure if no verdict is possible.
#pragma once
#include <functional>
#include <optional>

#include "lib/bisect/executor.h"
#include "lib/live/tinygrad_process.h"
#include "lib/run/run_model.h"

namespace tgc {

// crash.cpp: the input kernel itself dies in REF, before any rewrite.
std::optional<Verdict> find_kernel_fault(const FailureRepro& repro, Executor& executor);

// crash.cpp: tgc itself crashes while it compiles the kernel. Compiles in a worker and names the last rewrite before
// the crash; confirmed if the worker survives without that rewrite.
std::optional<Verdict> find_compiler_crash(const FailureRepro& repro, Executor& executor);

// endless.cpp: a stage's rewriting does not end. The culprit is an earlier wrong rewrite, else a cycle of rules that
// apply again and again (Endless). If a higher REWRITE_STACK_LIMIT helps, the graph is only deep (Deep).
std::optional<Verdict> find_endless_rewrite(const FailureRepro& repro, Executor& executor);
// endless.cpp: returns the last cycle of a log: the applications since the last rewritten node was rewritten before.
// If no node was rewritten twice, returns the shortest sequence of rules that the log's end repeats three times.
std::span<const Application> last_cycle(std::span<const Application> all);

// shortcut.cpp: the kernel fails only if its rewrites are observed, or only if they are not. Names the wrong shortcut:
// quick code that runs in place of a slow ("faithful") function if nothing observes it (lib/rewrite/shortcut.h).
std::optional<Verdict> find_shortcut(const FailureRepro& repro, Executor& executor);

// evaluate_rewrites.cpp: evaluates both sides of every rewrite in REF at a few points. If the sides of a rewrite
// differ, tries to prove that this rewrite is the culprit (veto.h).
std::optional<Verdict> evaluate_rewrites(const FailureRepro& repro, Executor& executor);
// evaluate_rewrites.cpp: names a rewrite whose sides clearly differ, although there is no proof that it is the culprit:
// the only such rule in a kernel that is too large for REF, or a rewrite in the first wrong stage.
std::optional<Verdict> name_unproven_rewrite(const FailureRepro& repro, Executor& executor);

// veto.cpp: for failures that no single rewrite causes, suppresses several rewrites at once: all rewrites that
// change a value's dtype or number of elements, or a pair of rewrites whose sides differ.
std::optional<Verdict> veto_rewrites(const FailureRepro& repro, Executor& executor);

// binary_search.cpp: binary-searches for the first stage after which the graph is wrong in REF, then for the
// first rewrite of this stage after which the graph is wrong.
std::optional<Verdict> search_rewrites(const FailureRepro& repro, Executor& executor);
// binary_search.cpp: the same search if a shell command decides which graphs fail (--cmd); always returns a verdict.
std::optional<Verdict> search_by_command(const FailureRepro& repro, Executor& executor);
// binary_search.cpp: returns the first stage after which the graph is wrong in REF; null if there is none. If
// the kernel is too large for REF, its loops are shortened, so a wrong stage may be missed.
const StageRun* first_wrong_stage(const FailureRepro& repro, Executor& executor);

// backend.cpp: the kernel is refused, and no rewrite is the culprit: the renderer rejects it or prints a source that
// does not compile; the compiler crashes, times out, or rejects a source that another compiler accepts; or REF rejects
// it.
std::optional<Verdict> find_refusal(const FailureRepro& repro, Executor& executor);
// backend.cpp: the graph is right in REF after every stage, but the device computes something else. For sources of this
// computer's CPU:
//   compiler  right without LLVM's optional passes: a binary search names the first pass with which it fails; or right
//             if the other compiler compiles the same source
//   renderer  wrong with every compiler, and right with the other renderer, or if vectors are loaded and stored element
//             by element (list_variants.h); the node that is printed wrongly is named if it is found
//   device    neither the compiler nor the renderer is found to be wrong
std::optional<Verdict> bisect_backend(const FailureRepro& repro, Executor& executor);
// first_wrong_node.cpp: finds the first node that is printed wrongly, in a list that is right in REF and wrong on the
// device. Runs the list on the device and in REF, with every node's value stored to its own array (list_variants.h).
// The node whose value differs first is the suspect. It is the culprit if the device computes what REF does as soon as
// users of that node read its right value from an array. Returns the empty UOp if no node is proven to be the culprit.
UOp first_wrong_node(Executor& executor, std::span<const UOp> list);

// ---- strategies that take other inputs than a FailureRepro

// divergence.cpp: compares the compilation of `in` with a golden record. The culprit is the first rewrite of the first
// differing stage that tinygrad does not make; if the record has no rewrites of that stage, the first one whose result
// remains and is not in the record's graph. It is confirmed if the stage is the record's without that rewrite, or by
// the record's own rewrites. If tinygrad makes a rewrite that tgc lacks, no rule is named, and the detail says which
// one.
std::optional<Verdict> find_divergence(const Session& session, const InputGraph& in, const GoldenRecord& record);

// divergence.cpp: compares with the compilation of a running tinygrad instead, up to `stage` (empty: all stages). `in`
// must name a target. Throws Failure if tinygrad does not answer, or refuses a kernel that tgc accepts.
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
  size_t kernels = 0;        // number of kernels that were compared with REF
  std::string kernel_fault;  // an out-of-bounds access of a kernel's own AST; empty: none
};

// schedule.cpp: compares the results with the expected ones, and with those of a schedule without fusion, which has one
// kernel for each operation. If only the unfused results are right, the fused schedule is wrong. Both sides of each of
// its rewrites are compared in REF, for one tensor element (lib/validate/tensor_element.h). The culprit is a rewrite
// without which the results are right, or the only one whose sides differ. If there is none, rules are suppressed one
// by one for half a minute; a rule without which the results are right is mentioned, but not as the culprit, because
// its absence changes all later rewrites. Returns nullopt if the run ended with an error that is not the schedule's.
std::optional<Verdict> check_schedule(const ModelRepro& repro, const ModelOutcome& outcome, BisectCounts& counts);

}  // namespace tgc
