// What an interrupted search has measured, as text, so that the next one goes on from there.
#pragma once
#include <map>

#include "lib/beam/beam_log.h"

namespace tgc {

using Measured = std::map<std::string, CandidateLog>;  // by their opts, joined

std::string measured_text(const BeamLog& log);  // all candidates that were judged, as JSON
Measured read_measured(std::string_view text);  // of that; throws Failure

}  // namespace tgc
