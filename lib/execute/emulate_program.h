// Runs a program that uses tinygrad on an emulated GPU: `tgc emulate`.
#pragma once
#include <string>
#include <vector>

#include "lib/support/result.h"

namespace tgc {

struct EmulateOptions {
  // "CUDA", or "AMD" and its other name "HIP", optionally with an architecture ("CUDA::sm_80"). Empty: the device that
  // the environment variable DEV names, else CUDA.
  std::string device;
  bool checks_races = false;         // check for data races between threads
  std::vector<std::string> command;  // the program, searched in PATH, and its arguments
};

// Sets the environment variables by which tinygrad 0.12.0 and later choose the device, load the emulator in place of
// the GPU's driver and of its compiler (NVRTC or comgr), and use no compile cache of other devices (unless the user set
// CACHEDB), and those that configure the emulator. Then replaces this process by the program, whose exit code becomes
// this process's. Returns only if that fails, with the error.
Diag emulate_program(const EmulateOptions& options);

}  // namespace tgc
