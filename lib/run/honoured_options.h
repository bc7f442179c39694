// Finds options that a command would ignore for an input. `run` and `bisect` refuse such an option.
#pragma once
#include "lib/run/run_options.h"

namespace tgc {

// The task of a command for one input. Each task honours a different set of options.
enum class RunTask : uint8_t {
  RunSchedule = 1,      // run a tensor graph that another tinygrad release scheduled
  BisectSchedule = 2,   // bisect such a tensor graph
  BisectRecorded = 4,   // bisect the recorded stages of a kernel of another release
};

// Fails if an option of `options` has no effect in `task`. The error names the option, the input and what to do
// instead.
Status check_honoured(RunTask task, const RunOptions& options, const InputGraph& in);

}  // namespace tgc
