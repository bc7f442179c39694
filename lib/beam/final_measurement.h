// The end of a search: the best of all rounds and the kernel of the hand-coded optimizer run in turns, and the fastest
// that computes what it should is the result.
#pragma once
#include "lib/beam/device_times.h"

namespace tgc {

// Sets the log's opts and seconds, and those of the kernel before. Throws Failure when nothing runs.
void hold_contest(BeamLog& log, const SearchKernel& kernel, const SearchPlan& plan, DeviceTimes& times, int turns);

// The opts of the hand-coded optimizer, none with NOOPT.
std::vector<Opt> hand_coded_opts(const SearchKernel& kernel);

}  // namespace tgc
