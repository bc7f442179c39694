// Runs the recorded schedule of a tensor graph of another tinygrad release, and compares what its kernels compute with
// the tensor graph in REF.
#pragma once
#include "lib/run/run_model.h"

namespace tgc {

// `finds_stage`: if the kernels compute something else, find the first wrong stage.
ModelReport run_recorded_schedule(const Session& session, const InputGraph& in, const RunOptions& options,
                                  bool finds_stage = false);

}  // namespace tgc
