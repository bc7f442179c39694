// Writes profiles of emulated AMD GPUs (`tgc run --emulate --profile=F`).
#pragma once
#include <functional>
#include <string>

#include "lib/emulate/hip/trace_log.h"
#include "lib/support/result.h"

namespace tgc::profile {

// Runs `body` and writes the profile of what emulated AMD GPUs execute meanwhile to `path`, or only runs it if `path`
// is empty. Returns the result of `body`. Fails if there is no memory for the log or `path` cannot be written, and as
// profile_of_log() unless `body` returns 2 (it failed).
Result<int> run_and_profile(const std::string& path, const std::function<int()>& body);

// Returns the profile.pkl for a log. Fails if no profile can be made of the log.
Result<std::string> profile_of_log(const hip::TraceLog& log);

}  // namespace tgc::profile
