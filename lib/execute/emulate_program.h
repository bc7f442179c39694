#pragma once
#include <string>
#include <vector>

#include "lib/support/result.h"

namespace tgc {

struct EmulateOptions {
  // "CUDA", "AMD" or "HIP" (another name of AMD), optionally with an architecture ("CUDA::sm_80"). If empty, the
  // environment variable DEV names the device; if DEV is empty too, it is CUDA.
  std::string device;
  bool checks_races = false;
  std::vector<std::string> command;  // the program, which is searched in PATH, and its arguments
};

// Sets the environment variables by which tinygrad 0.12.0 and later load the emulator in place of the GPU's driver and
// compiler. Then replaces this process by the program; returns the error if that fails.
Diag emulate_program(const EmulateOptions& options);

}  // namespace tgc
