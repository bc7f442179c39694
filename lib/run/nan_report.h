// Explains the NaN that `tinygrad_export.py --watch-nan` found (python/tgc/export/watch_nan.py): which operation of a
// recorded kernel computed a NaN or an infinity from finite numbers, and which line of the program made the operation.
#pragma once
#include <string>
#include <vector>

#include "lib/driver/session.h"
#include "lib/validate/nan_origin.h"

namespace tgc {

struct NanReport {
  struct Step {
    NanStep step;
    std::string made_by;  // for a load: the kernel and the call that stored the value; else the Tensor method and the
                          // line of the program
  };
  // Another NaN that the recording keeps.
  struct OtherFind {
    std::string kernel;           // the id of the kernel that made the NaN
    bool is_earlier = false;      // true if the NaN was made before the one that the report explains
    std::string spread;           // use of this NaN by later kernels, as in NanReport::spread
    std::string explain_command;  // the command that explains this NaN
  };
  std::string kernel, name;       // the id of the kernel's record, and the name of its function
  std::string
      kernel_call;  // "kernel call 275 of the program (run 4 of this kernel; call 4 of TinyJit step; train.py:35)"
  std::string output;                            // the first element that is a NaN or an infinity: "data0[76]"
  int64_t num_non_finite = 0, num_elements = 0;  // number of NaNs and infinities in the output, and of all elements
  std::vector<OtherFind> other_finds = {};       // in the order in which the NaNs were made
  std::string spread = {};                       // use of the NaNs by later kernels: "which no later kernel read"
  std::vector<Step> nan_steps;                   // the operations from the one that made the NaN to the output
  std::string repeat_command;                    // the command that prints this report
  std::string kernel_command;                    // the command that runs the kernel on the saved arrays
  // why there are no steps, for example because REF computes a number for this element; empty if there are steps
  std::string unexplained_reason;

  std::string text() const;
  std::string json() const;  // the report as one line of JSON
  int exit_code() const { return unexplained_reason.empty() ? 1 : 2; }
};

// Explains a NaN that --watch-nan kept for the recording `recording`, FILE or FILE#ID: that of the kernel ID or, for
// FILE, the first one that no later kernel masked (the first of all if all are masked). Fails if --watch-nan kept no
// such NaN, or if its files or the kernel's record cannot be read.
Result<NanReport> explain_nan(const Session& session, const std::string& recording);

}  // namespace tgc
