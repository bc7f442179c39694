// tinygrad's line about a kernel that ran, as it prints it with DEBUG=2.
#pragma once
#include <optional>
#include <string>

#include "lib/execute/executable.h"

namespace tgc {

// What is known of a kernel that was run.
struct KernelTime {
  double seconds = 0, seconds_in_all = 0;
};

struct KernelLine {
  std::string name;          // with colours
  std::string device;        // "CPU"
  size_t number = 0;         // counts kernels from 1
  size_t arguments = 0;
  double bytes = 0;          // of memory in use
  Executable::Cost cost = {};
  std::optional<KernelTime> time = {};

  // "*** CPU        1 E_4_4       arg  3 mem   0.00 GB tm ...", without a line end. Without a time it ends before "tm".
  std::string text(bool color) const;
};

// `text` in tinygrad's colour of that name, where colours are wanted.
std::string painted(std::string text, std::string_view color, bool wanted);
// helpers.py time_to_str: "3.76us", so many columns wide.
std::string time_text(double seconds, int width = 9);

}  // namespace tgc
