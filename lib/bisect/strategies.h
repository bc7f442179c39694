// The strategies of bisection. Each is one function in one file of this folder: it looks for one kind of culprit of a
// failing kernel, and returns the verdict, or nullopt if it found none. bisect.cpp lists the order in which they are
// tried. All throw Failure if no verdict is possible.
#pragma once
#include <optional>

#include "lib/bisect/executor.h"

namespace tgc {

// crash.cpp: the kernel as it came in dies in REF, before any rewrite.
std::optional<Verdict> find_kernel_fault(const FailureRepro& repro, Executor& executor);

// crash.cpp: tgc itself crashes while it compiles the kernel. Compiles in a worker and names the last rewrite before the
// crash; confirmed if the worker survives without that rewrite.
std::optional<Verdict> find_compiler_crash(const FailureRepro& repro, Executor& executor);

// endless.cpp: a rewrite does not end. The culprit is a wrong rewrite before, else the cycle of rules that repeat
// (Endless); if the rewrite ends with a higher REWRITE_STACK_LIMIT, the graph is only deep (Deep).
std::optional<Verdict> find_endless_rewrite(const FailureRepro& repro, Executor& executor);

// shortcut.cpp: the kernel fails when it is observed and passes otherwise, or the reverse; names the shortcut
// (lib/rewrite/shortcut.h) whose faithful way makes the difference.
std::optional<Verdict> find_shortcut(const FailureRepro& repro, Executor& executor);

// evaluate_rewrites.cpp: evaluates both sides of every rewrite in REF at a few points and proves that one whose sides
// differ is the culprit (rewrite_proof.h).
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

// backend.cpp: the kernel is refused, and no rewrite is the culprit: the renderer rejects it or prints a source that does
// not compile; the compiler crashes, times out, or rejects a source that another compiler accepts; or REF rejects it.
std::optional<Verdict> find_refusal(const FailureRepro& repro, Executor& executor);
// backend.cpp: the graph is right in REF after every stage, but the device computes something else. For sources of this
// computer's CPU:
//   compiler  right without LLVM's optional passes: a binary search names the first pass with which it fails; or right
//             if the other compiler compiles the same source
//   renderer  wrong with every compiler, and right with the other renderer, or if vectors are loaded and stored element
//             by element (scalarize.h); the misprinted node is named if it is found (first_wrong_node.h)
//   device    neither
std::optional<Verdict> bisect_backend(const FailureRepro& repro, Executor& executor);

}  // namespace tgc
