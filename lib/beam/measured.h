// Writes the measurements of an interrupted search as text, from which the next search resumes.
#pragma once
#include <map>

#include "lib/beam/beam_log.h"

namespace tgc {

using Measured = std::map<std::string, CandidateLog>;  // maps joined(opts) to the log of the classified candidate

std::string measured_text(const BeamLog& log);  // returns all classified candidates as JSON
Measured read_measured(std::string_view text);  // reads measured_text; throws Failure

}  // namespace tgc
