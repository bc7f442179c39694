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
// recorded source with the AST in REF, for the inputs of `options` or drawn ones. Looks for the first rewrite that
// makes the kernel compute something else, then for a missing barrier, then for a fault of the recorded source, and
// returns the verdict. Sets fields of `report`. If `failing` is not null, sets it to inputs for which the kernel fails.
// Throws Failure if the kernel cannot be run or compared.
Verdict bisect_recorded(const Session& session, InputGraph& in, const RunOptions& options, BisectReport& report,
                        const RecordedBisectPlan& plan = {}, FailingInputs* failing = nullptr);

// Bisects a recorded schedule of another tinygrad release, and sets the verdict and other fields of `report`. Runs the
// recorded kernels and stages, and if they compute something else than the tensor graph, looks for the cause. Throws
// Failure if the schedule cannot be run or compared.
void bisect_recorded_schedule(const Session& session, const InputGraph& in, const RunOptions& options,
                              BisectReport& report);

}  // namespace tgc
