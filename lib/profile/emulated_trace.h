// Profiles of emulated AMD GPUs: `tgc run --emulate --profile=F`. The emulator logs the instructions that each wave
// executes (lib/emulate/hip/trace_log.h); this library writes them as the packets that hardware would write, in a
// profile.pkl that `tgc profile` and tinygrad open. Time counts packets: one cycle each.
#pragma once
#include <functional>
#include <string>

#include "lib/emulate/hip/trace_log.h"
#include "lib/support/result.h"

namespace tgc::profile {

// Runs `body` with a log of emulated AMD GPUs, then writes its profile to `path` (empty: only runs `body`). Returns the
// result of `body`. Fails if
// nothing was logged, if the log is too small, and if a decoded trace has other hits than the log.
Result<int> run_profiled(const std::string& path, const std::function<int()>& body);

// Returns the pickle of a log.
Result<std::string> profile_of_log(const hip::TraceLog& log);

}  // namespace tgc::profile
