// tinygrad's environment variables that are no settings (lib/support/settings.h): which device and renderer a kernel is
// for when nobody says, and those that tgc knows and does nothing with, so that nobody waits for what does not come.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/result.h"

namespace tgc {

// The target that the environment asks for, as tinygrad reads it: DEV=NAME or NAME=1 picks the device (device.py
// DEFAULT), CPU_LLVM, CUDA_PTX, NV_PTX and AMD_LLVM its renderer. Empty: it asks for none.
std::string target_of_environment();

// One line for every variable that is set, that users of tinygrad expect something of, and that does nothing here.
std::vector<std::string> idle_variables();

// TGC_FAULT (lib/rewrite/fault.h) asks for nothing, or for a fault in a rule that there is; an error names the nearest.
Status check_fault_of_environment();
// A line for each fault of this process that changed nothing (take_fault_warnings), those in LLVM, too.
std::vector<std::string> fault_warnings();

// TRACK_MATCH_STATS: print how often each rule was tried and hit, at the end.
bool tracks_match_stats();

}  // namespace tgc
