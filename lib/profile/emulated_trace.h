// Writes profiles of emulated AMD GPUs (`tgc run --emulate --profile=F`).
#pragma once
#include <functional>
#include <string>

#include "lib/emulate/hip/trace_log.h"
#include "lib/support/result.h"

namespace tgc::profile {

// Runs `body`, and writes to `path` the profile of what emulated AMD GPUs execute while it runs. If `path` is empty,
// only runs `body`. Returns the result of `body`. Fails if there is no memory for the log, or if `path` cannot be
// written. Also fails if profile_of_log() fails, unless `body` returns 2, the code of a failure.
Result<int> run_and_profile(const std::string& path, const std::function<int()>& body);

// Returns the profile.pkl for a log. Fails if no profile can be made of the log.
Result<std::string> profile_of_log(const hip::TraceLog& log);

}  // namespace tgc::profile
