// Runs the recorded schedule of a tensor graph of another tinygrad release, and compares what its kernels compute with
// the tensor graph in REF.
#pragma once
#include "lib/run/run_model.h"

namespace tgc {

ModelReport run_recorded_schedule(const Session& session, const InputGraph& in, const RunOptions& options);

}  // namespace tgc
