// The strategies of bisection. Each is one function in one file of this folder: it looks for one kind of culprit of a
// failing kernel, and returns the verdict, or nullopt if it found none. bisect.cpp lists the order in which they are
// tried. All throw Failure if no verdict is possible.
#pragma once
#include <functional>
#include <optional>

#include "lib/bisect/executor.h"
#include "lib/live/tinygrad_process.h"
#include "lib/run/run_model.h"

namespace tgc {

// crash.cpp: the kernel as it came in dies in REF, before any rewrite.
std::optional<Verdict> find_kernel_fault(const FailureRepro& repro, Executor& executor);

// crash.cpp: tgc itself crashes while it compiles the kernel. Compiles in a worker and names the last rewrite before
// the crash; confirmed if the worker survives without that rewrite.
std::optional<Verdict> find_compiler_crash(const FailureRepro& repro, Executor& executor);

// endless.cpp: a rewrite does not end. The culprit is a wrong rewrite before, else the cycle of rules that repeat
// (Endless); if the rewrite ends with a higher REWRITE_STACK_LIMIT, the graph is only deep (Deep).
std::optional<Verdict> find_endless_rewrite(const FailureRepro& repro, Executor& executor);
// endless.cpp: returns the last cycle of a log: the applications since the last node was rewritten before. If nodes
// only grow, returns the shortest sequence of rules that the end of the log repeats three times.
std::span<const Application> last_cycle(std::span<const Application> all);

// shortcut.cpp: the kernel fails when it is observed and passes otherwise, or the reverse; names the shortcut
// (lib/rewrite/shortcut.h) whose faithful way makes the difference.
std::optional<Verdict> find_shortcut(const FailureRepro& repro, Executor& executor);

// evaluate_rewrites.cpp: evaluates both sides of every rewrite in REF at a few points and proves that one whose sides
// differ is the culprit (veto.h).
std::optional<Verdict> evaluate_rewrites(const FailureRepro& repro, Executor& executor);
// evaluate_rewrites.cpp: names a rewrite whose sides clearly differ without a proof: the only such rule in a kernel too
// large for REF, or a rewrite in the first stage that is wrong.
std::optional<Verdict> name_unproven_rewrite(const FailureRepro& repro, Executor& executor);

// veto.cpp: suppresses several rewrites at once, of which none alone is the culprit: all that make values of another
// dtype or number of elements, and pairs of rewrites whose sides differ.
std::optional<Verdict> veto_rewrites(const FailureRepro& repro, Executor& executor);

// binary_search.cpp: binary search for the first stage whose graph is wrong in REF, then for the first rewrite of that
// stage after which it is.
std::optional<Verdict> search_rewrites(const FailureRepro& repro, Executor& executor);
// binary_search.cpp: the same where a command decides which graphs fail (--cmd); always returns a verdict.
std::optional<Verdict> search_by_command(const FailureRepro& repro, Executor& executor);
// binary_search.cpp: returns the first stage whose graph is wrong in REF, for a kernel too large for REF as far as REF
// can tell. Null if the graph is right after every stage.
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
//             by element (list_variants.h); the misprinted node is named if it is found
//   device    neither
std::optional<Verdict> bisect_backend(const FailureRepro& repro, Executor& executor);
// first_wrong_node.cpp: finds the first misprinted node of a list that is right in REF and wrong on the device.
// Runs the list with every value stored to an array of its own (list_variants.h), on the device and in REF. The first
// value in time that differs is the suspect. It is the culprit if the device computes what REF does once all users of
// the node read its right value from an array. Returns the empty UOp if no node is proven to be the culprit.
UOp first_wrong_node(Executor& executor, std::span<const UOp> list);

// ---- strategies with inputs of their own

// divergence.cpp: compares the compilation of `in` with a golden record. The culprit is the first rewrite of the first
// differing stage that tinygrad does not make; if the record has no rewrites of that stage, the first one whose result
// remains and is not in the record's graph. It is confirmed if the stage is the record's without that rewrite, or by
// the record's own rewrites. If tinygrad makes a rewrite that tgc lacks, no rule is named, and the detail says which
// one.
std::optional<Verdict> find_divergence(const Session& session, const InputGraph& in, const GoldenRecord& record);

// The same for what a live tinygrad makes of the kernel, with its rewrites, up to `stage` (empty: all stages). `in`
// names its target. Throws Failure if tinygrad does not answer, or refuses a kernel that tgc accepts.
std::optional<Verdict> find_divergence(const Session& session, const InputGraph& in, TinygradProcess& tinygrad,
                                       const std::string& stage);

// A failing model or tensor graph. Runs all of it with other options.
struct ModelRepro {
  const Session& session;
  RunOptions options;
  std::function<ModelReport(const RunOptions&)> run;
};

// Result of a run of all kernels, of which none is miscompiled.
struct ModelOutcome {
  ModelReport report;
  size_t kernels = 0;        // that were compared with REF
  std::string kernel_fault;  // an out-of-bounds access of a kernel's own AST; empty: none
};

// schedule.cpp: compares the results with the expected ones, and with those of a schedule without fusion, where every
// operation has a kernel of its own: if that one is right, the schedule is at fault. Each rewrite's sides are compared
// in REF, one tensor element as an expression (lib/validate/tensor_element.h). The culprit is a rewrite without which
// the results are right, or the only one whose sides differ. If there is none, rules are suppressed one by one for half
// a minute; a rule without which the results are right is mentioned, but is no culprit: it changes all that follows.
// Returns nullopt if the run ended with an error that is not the schedule's.
std::optional<Verdict> check_schedule(const ModelRepro& repro, const ModelOutcome& outcome, BisectCounts& counts);

}  // namespace tgc
