// Bisects recordings of another tinygrad release: the compilation of a kernel, or a schedule.
#pragma once
#include "lib/bisect/bisect.h"

namespace tgc {

// Options of the bisection of a recorded kernel.
struct RecordedPlan {
  bool redraws_inputs = false;  // run with random arrays, too, even if --inputs or a repro bundle has arrays
  bool stages_only = false;     // do not compile and run the recorded source
  // if the pipeline can, compile the kernel again without the culprit to confirm the verdict
  bool confirms_verdict = false;
};

// The inputs of a failing run: the values of the variables, and the arrays that the kernel reads or may store only in
// part, so that their first contents can affect the results.
struct FailingInputs {
  Arrays inputs;
  VariableValues variables;
};

// `in` is the imported AST of a kernel record. Compares the recorded stages, the linear list and, on its device, the
// recorded source with the AST in REF, for the inputs of `options` or for several draws. Returns the first rewrite that
// makes the kernel compute something else, by tinygrad's file and line, as Known if a known fault explains it; Barrier
// if threads race for shared memory; Renderer, Compiler or Device if only the source is wrong; Unresolved if the
// culprit was not found; Same if all are right. Sets `pipeline_kind`, `counts`, `device`,
// `failure_text` and `wrong_element` of `report`, and `failing` if it is not null. Throws Failure if the AST cannot be
// run, or if neither a stage nor the source can be compared with it.
Verdict bisect_recorded(const Session& session, InputGraph& in, const RunOptions& options, BisectReport& report,
                        const RecordedPlan& plan = {}, FailingInputs* failing = nullptr);

// Bisects a recorded schedule of another tinygrad release, and sets the verdict and other fields of `report`. Runs the
// recorded kernels and stages as `tgc run --each-stage` does. A record that tinygrad refused to schedule is Refused.
// Looks for kernels in the wrong order. If kernels or stages compute something else than the tensor graph, looks for a
// hazard, and then for the first rewrite whose sides differ: in the first wrong stage, and in the stages before it that
// cannot be run. Throws Failure if the schedule cannot be run or compared.
void bisect_recorded_schedule(const Session& session, const InputGraph& in, const RunOptions& options,
                              BisectReport& report);

}  // namespace tgc
