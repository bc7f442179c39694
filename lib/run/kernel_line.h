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
  std::string name;          // with colors
  std::string device;        // "CPU"
  size_t number = 0;         // the kernel's number in this process, counted from 1
  size_t arguments = 0;
  double bytes = 0;          // memory in use
  Executable::Cost cost = {};
  std::optional<KernelTime> time = {};

  // "*** CPU        1 E_4_4       arg  3 mem   0.00 GB tm ...", without a line end. Without a time it ends before "tm".
  std::string text(bool color) const;
};

// Returns `text` with the terminal codes of tinygrad's color `color`; unchanged if `wanted` is false.
std::string painted(std::string text, std::string_view color, bool wanted);
// Formats seconds as "3.76us", `width` columns wide (helpers.py:time_to_str).
std::string time_text(double seconds, int width = 9);

}  // namespace tgc
