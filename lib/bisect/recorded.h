// Bisects what another tinygrad release made and recorded: the compilation of a kernel, or a schedule.
#pragma once
#include "lib/bisect/bisect.h"

namespace tgc {

// Options of the bisection of a recorded kernel.
struct RecordedPlan {
  bool redraws = false;      // if the given arrays show nothing, draw others, as if none were given
  bool stages_only = false;  // do not run the recorded source
  bool confirms = false;     // compile the kernel again without the culprit, if the pipeline can
};

// A run that shows the verdict: the arrays that the kernel reads or does not store whole, and its variables.
struct FailingInputs {
  Arrays inputs;
  VariableValues variables;
};

// `in` is the imported AST of a kernel record. Compares every recorded stage, the linear list and, on its device, the
// recorded source with the AST in REF, for the inputs of `options` or for several draws. Returns the first rewrite that
// makes the kernel compute something else, by tinygrad's file and line, as Known if a known fault explains it; Barrier
// if threads race for shared memory; Renderer, Compiler or Device if only the source is wrong; Unresolved with the
// first wrong stage if the rewrite was not found; Same if all are right. Fills counts, device and failure of `report`,
// and `failing` if it is not null. Throws Failure if the AST cannot be run.
Verdict bisect_recorded(const Session& session, InputGraph& in, const RunOptions& options, BisectReport& report,
                        const RecordedPlan& plan = {}, FailingInputs* failing = nullptr);

// Strategy: finds what makes a recorded schedule of another tinygrad release wrong.

// Runs the recorded kernels and stages as `tgc run --each-stage` does. If they compute something else than the tensor
// graph, names the first rewrite whose sides differ, in the first wrong stage or in those that cannot be run before it.
// Throws Failure.
void bisect_recorded_schedule(const Session& session, const InputGraph& in, const RunOptions& options,
                              BisectReport& report);

}  // namespace tgc
