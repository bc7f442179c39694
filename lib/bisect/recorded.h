// Bisects recordings of another tinygrad release: the compilation of a kernel, or a schedule.
#pragma once
#include "lib/bisect/bisect.h"

namespace tgc {

struct RecordedBisectPlan {
  bool should_redraw_inputs = false;
  bool should_skip_source = false;
  // if the pipeline can, compile the kernel again without the culprit to confirm the verdict
  bool should_confirm_verdict = false;
};

// The inputs of a failing run: the variables, and the arrays that the kernel reads or may store only in part.
struct FailingInputs {
  Arrays inputs;
  VariableValues variables;
};

// `in` is the imported AST of a kernel record. Compares the recorded stages, the linear list and, on its device, the
// recorded source with the AST in REF, for the inputs of `options` or for several draws. Returns the verdict on the
// first rewrite that makes the kernel compute something else or, if there is none, on a missing barrier or the recorded
// source. Sets fields of `report`, and `failing` if it is not null. Throws Failure if the kernel cannot be run or
// compared.
Verdict bisect_recorded(const Session& session, InputGraph& in, const RunOptions& options, BisectReport& report,
                        const RecordedBisectPlan& plan = {}, FailingInputs* failing = nullptr);

// Bisects a recorded schedule of another tinygrad release, and sets the verdict and other fields of `report`. Runs the
// recorded kernels and stages, and if they compute something else than the tensor graph, looks for the cause. Throws
// Failure if the schedule cannot be run or compared.
void bisect_recorded_schedule(const Session& session, const InputGraph& in, const RunOptions& options,
                              BisectReport& report);

}  // namespace tgc
