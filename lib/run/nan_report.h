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
    std::string made_by;  // for a load, which kernel stored the value; else the Tensor method and line, if recorded
  };
  struct OtherNan {
    std::string kernel;           // id of the kernel that made the NaN
    bool is_earlier = false;      // true if this NaN was made before the one that the report explains
    std::string spread;
    std::string explain_command;
  };
  std::string kernel, name;       // id of the kernel's record, name of its function
  // such as "kernel call 275 of the program (run 4 of this kernel; call 4 of TinyJit step; train.py:35)"
  std::string kernel_call;
  std::string output_element;                    // first element that is a NaN or an infinity: "data0[76]"
  int64_t num_non_finite = 0, num_elements = 0;
  std::vector<OtherNan> other_nans = {};
  std::string spread = {};                       // use of the NaNs by later kernels: "which no later kernel read"
  std::vector<Step> nan_steps;                   // operations from the one that made the NaN to the output
  std::string repeat_command;
  std::string kernel_command;                    // command that runs the kernel on the saved arrays
  // why there are no steps; else empty
  std::string unexplained_reason;

  std::string text() const;
  std::string json() const;
  int exit_code() const { return unexplained_reason.empty() ? 1 : 2; }
};

// Explains a NaN that --watch-nan kept for `recording`: for FILE#ID, that of the kernel ID; for FILE, the first that
// later kernels passed on or never read, else the first. Fails, for example, if there is none.
Result<NanReport> explain_nan(const Session& session, const std::string& recording);

}  // namespace tgc
