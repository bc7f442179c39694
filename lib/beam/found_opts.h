// BEAM=N of run, dump and bench: kernels are compiled with the opts that `tgc beam` found, or with the hand-coded opts.
#pragma once
#include <cstdint>
#include <string>

#include "lib/support/result.h"

namespace tgc {

// Makes tgc's own pipeline, in this process, use the opts in `path`, a file of BeamResults, from searches whose BEAM
// was at least `width`. Opts that the kernel or the user gives take precedence. Fails if the file exists, but is not a
// readable file of results.
Status use_found_opts(const std::string& path, int64_t width);

// Returns a sentence with the number of kernels for which opts were found, and for which none were. Returns "" if
// use_found_opts() has not succeeded.
std::string found_opts_note();

}  // namespace tgc
