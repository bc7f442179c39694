// Reads environment variables that are not settings (lib/support/settings.h): those that choose the default device and
// renderer, those that tgc ignores (users are warned), and TRACK_MATCH_STATS. Also checks TGC_FAULT (seeded faults).
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/result.h"

namespace tgc {

// Returns the target that the environment selects (device.py:_Device.DEFAULT): DEV=NAME or NAME=1 selects the device,
// and CPU_LLVM, CUDA_PTX, NV_PTX and AMD_LLVM its renderer. Returns "" if the environment selects no device.
std::string target_of_environment();

// Returns a warning for each set variable that tgc ignores, such as VIZ, or CLANG, which tinygrad 0.12.0 ignores, too.
std::vector<std::string> ignored_variables();

// Checks that the rule of TGC_FAULT (lib/rewrite/fault.h), if it is set, exists. The error suggests the nearest names.
Status check_fault_of_environment();
// Returns a warning for each seeded fault, in a rule or in LLVM, that had no effect (take_fault_warnings).
std::vector<std::string> fault_warnings();

// Returns whether the variable TRACK_MATCH_STATS asks to print the rules' match statistics when the command ends.
bool tracks_match_stats();

}  // namespace tgc
