// Draws a search: the time of each candidate and of the best one so far, round by round.
#pragma once
#include <string>

#include "lib/beam/beam_log.h"

namespace tgc {

// Returns a self-contained SVG. The time axis is logarithmic; each timed candidate is a dot in its round.
std::string beam_plot(const BeamLog& log);

}  // namespace tgc
