// Formats the line that tinygrad prints for each kernel that it runs (DEBUG=2).
#pragma once
#include <optional>
#include <string>

#include "lib/execute/executable.h"

namespace tgc {

// The time of one kernel, and the total time of all kernels so far.
struct KernelTime {
  double seconds = 0, seconds_in_all = 0;
};

struct KernelLine {
  std::string name;          // name of the kernel, with terminal colors
  std::string device;        // name of the device, for example "CPU"
  size_t number = 0;         // number of the kernel in this process, from 1
  size_t arguments = 0;
  double bytes = 0;          // bytes of memory in use
  Executable::Cost cost = {};
  std::optional<KernelTime> time = {};

  // Returns the line "*** CPU        1 E_4_4       arg  3 mem   0.00 GB tm ..."; without `time`, the part before "tm".
  std::string text(bool color) const;
};

// Returns `text` in the color that tinygrad calls `color`, with terminal codes; `text` itself if `wanted` is false.
std::string painted(std::string text, std::string_view color, bool wanted);
// Formats a time as `width` columns, for example "3.76us" (helpers.py:time_to_str).
std::string time_text(double seconds, int width = 9);

}  // namespace tgc
