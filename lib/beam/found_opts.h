// BEAM=N of run, dump and bench: kernels get the opts that `tgc beam` has found for them, as tinygrad's get those of
// its disk cache. Nothing is searched then: a kernel without a result is optimized by hand-coded opts.
#pragma once
#include <cstdint>
#include <string>

#include "lib/support/result.h"

namespace tgc {

// Installs the results of `path` for all compilations of this process from here on. There may be none yet. An error:
// the file is there and no file of results.
Status use_found_opts(const std::string& path, int64_t width);

// "BEAM=2: 3 kernels with opts that tgc beam has found, 1 without"; empty when nothing was asked for.
std::string found_opts_note();

}  // namespace tgc
