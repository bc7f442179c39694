// The end of a search: measures the best candidates of all rounds and the hand-coded optimizer's kernel in turns. The
// fastest kernel that computes right results becomes the result of the search.
#pragma once
#include "lib/beam/device_times.h"

namespace tgc {

// Sets opts, seconds, before_opts, before and reference of the log. Throws Failure if no kernel runs.
void measure_finalists(BeamLog& log, const SearchKernel& kernel, const SearchPlan& plan, DeviceTimes& times, int turns);

// Returns the opts of the hand-coded optimizer; none under NOOPT.
std::vector<Opt> hand_coded_opts(const SearchKernel& kernel);

}  // namespace tgc
