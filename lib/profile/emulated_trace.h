// Writes profiles of emulated AMD GPUs: `tgc run --emulate --profile=F`. The emulator logs the instructions that each
// wave executes (lib/emulate/hip/trace_log.h). This library writes the packets that hardware would write for these
// instructions to a profile.pkl, which `tgc profile` and tinygrad can read. Each packet takes one cycle.
#pragma once
#include <functional>
#include <string>

#include "lib/emulate/hip/trace_log.h"
#include "lib/support/result.h"

namespace tgc::profile {

// Runs `body`, and logs what emulated AMD GPUs execute meanwhile. Then writes the profile of the log to `path`; an
// empty `path` means only to run `body`. Returns the result of `body`. Errors: there is no memory for the log, or
// `path` cannot be written. Other errors, unless `body` returns 2 (it failed, so that its log may be bad): no launch
// was logged, the log is too small, the GPU is not RDNA, or the code cannot be read or does not fit the log.
Result<int> run_profiled(const std::string& path, const std::function<int()>& body);

// Returns the contents of the profile.pkl for a log. Errors: no launch was logged, the log is too small, the GPU is not
// RDNA, or the code cannot be read or does not fit the log.
Result<std::string> profile_of_log(const hip::TraceLog& log);

}  // namespace tgc::profile
