// Reads and writes search results in tinygrad 0.12.0's disk cache (helpers.py: diskcache_get, diskcache_put;
// codegen/opt/search.py: the key of beam_search).
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "lib/beam/results.h"
#include "passes/kernel/optimizer/scheduler.h"

namespace tgc {

// The number of copied rows, and the reasons why other rows were skipped.
struct CacheTransfer {
  size_t num_rows = 0;
  std::vector<std::string> skipped_rows;
};

// Copies the rows of table beam_search_22 of the SQLite file `cache` into `results`, without times, which tinygrad does
// not store. tinygrad's key has only the device and the renderer's suffix; `target` says which renderer and
// architecture is meant (empty: tinygrad's default). Skips rows for other devices and rows that cannot be read.
Result<CacheTransfer> import_cache(const std::string& cache, BeamResults& results, const std::string& target);

// Copies the results for `target` (empty: all) into `cache`, creating the file if it is missing. If two targets share
// tinygrad's key, as CPU:CLANG and CPU:LLVM do, the result for tinygrad's default target wins.
Result<CacheTransfer> export_cache(BeamResults& results, const std::string& cache, const std::string& target);

// ---- lists of Opts as Python pickles, as tinygrad's disk cache stores them

// Returns the bytes of pickle.dumps (protocol 4). Equal Opts are one object, as in tinygrad's search.
std::string pickle_opts(std::span<const Opt> opts);

// Reads a pickled list of Opts without running any Python, and creates the args of the Opts in `graph`. A pickle of
// anything else is an error.
Result<std::vector<Opt>> unpickle_opts(Graph& graph, std::string_view bytes);

}  // namespace tgc
