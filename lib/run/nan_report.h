// Explains what `tinygrad_export.py --watch-nan` found (python/tgc/export/watch_nan.py): which operation of a recorded
// kernel made a NaN or an infinity of numbers, with the numbers, and which line of the program asked for it.
#pragma once
#include <string>
#include <vector>

#include "lib/driver/session.h"
#include "lib/validate/nan_origin.h"

namespace tgc {

struct NanReport {
  struct Step {
    NanStep step;
    std::string made_by;  // the kernel and the call that stored the loaded value, or else the method and the line
  };
  std::string kernel, name;       // the record's id, and the kernel's name
  std::string call;  // "kernel call 275 of the program (run 4 of this kernel; call 4 of TinyJit step; train.py:35)"
  std::string output;  // "data0[76]"
  int64_t bad = 0, size = 0;  // number of bad elements of the output, and of all
  std::vector<Step> steps;  // the origin first
  std::string again;  // the command that prints this report
  std::string kernel_again;  // the command that runs the kernel on the saved arrays
  std::string unexplained;  // why there are no steps: REF computes a number there, for example; else empty

  std::string text() const;
  std::string json() const;  // one line
  int exit_code() const { return unexplained.empty() ? 1 : 2; }
};

// Explains the find of a recording, the file `recording`. Fails if there is no find, or its files are damaged.
Result<NanReport> explain_nan(const Session& session, const std::string& recording);

}  // namespace tgc
