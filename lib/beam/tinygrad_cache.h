// tinygrad 0.12.0's disk cache: what its own searches have found, read and written, so that each takes the other's
// results (helpers.py: diskcache_get, diskcache_put; codegen/opt/search.py: the key of beam_search).
#pragma once
#include "lib/beam/results.h"

namespace tgc {

// How many rows went over, and why others did not.
struct CacheTransfer {
  size_t rows = 0;
  std::vector<std::string> left_out;
};

// The rows of table beam_search_22 of the SQLite file `cache` into `results`. tinygrad's key names the device and the
// renderer's suffix alone, so `target` says which renderer and architecture is meant; empty: tinygrad's default. Rows
// for other devices are left out. tinygrad keeps no times: the results have none.
Result<CacheTransfer> import_cache(const std::string& cache, BeamResults& results, const std::string& target);

// The results for `target` (empty: all) into `cache`, which is made when it is not there. Where two targets share
// tinygrad's key, as CPU:CLANG and CPU:LLVM do, that of tinygrad's default stays.
Result<CacheTransfer> export_cache(BeamResults& results, const std::string& cache, const std::string& target);

}  // namespace tgc
