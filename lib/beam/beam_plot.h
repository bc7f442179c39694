// A search as a picture: the time of each candidate and of the best so far, round by round.
#pragma once
#include <string>

#include "lib/beam/beam_log.h"

namespace tgc {

// SVG, whole in itself. Times are on a logarithmic scale; each candidate that was timed is a dot in its round.
std::string beam_plot(const BeamLog& log);

}  // namespace tgc
