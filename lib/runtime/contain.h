// Containment: runs code that may crash, hang or use up the memory in a child process,
// so that this one only reads a report.
#pragma once
#include <functional>
#include <string>

#include "lib/support/result.h"

namespace tgc {

struct ContainOptions {
  double timeout_seconds = 0;  // 0: none
};

// How a child ended that gave no answer.
struct Death {
  int signal = 0;          // that killed it
  bool timed_out = false;  // it was killed because the time was over
};

// Forks; the child runs `body` and its bytes are the answer here, or its Diag. A child that dies gives a Diag such as
// "killed by SIGFPE (division by zero) at 0x7f..." or "did not end within 5 seconds", and sets `death`, if any. Threads
// of this process do not exist in the child: call this when none of them holds a lock.
// Whatever the child changed in its memory is gone.
Result<std::string> contain(const std::function<Result<std::string>()>& body, const ContainOptions& options = {},
                            Death* death = nullptr);

}  // namespace tgc
