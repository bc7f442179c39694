// BEAM=N of run, dump and bench: kernels are compiled with the opts that `tgc beam` found, or with the hand-coded opts.
#pragma once
#include <cstdint>
#include <string>

#include "lib/support/result.h"

namespace tgc {

// Later compilations of this process take opts from the file of results `path`, from searches whose BEAM was at least
// `width`. Fails if the file exists, but cannot be read as one of results.
Status use_found_opts(const std::string& path, int64_t width);

// Returns how many kernels have opts that `tgc beam` found, as a text; "" if use_found_opts() has not succeeded.
std::string found_opts_note();

}  // namespace tgc
