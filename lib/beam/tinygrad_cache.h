// Search results in tinygrad 0.12.0's disk cache (helpers.py: diskcache_get, diskcache_put; codegen/opt/search.py).
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "lib/beam/results.h"
#include "passes/kernel/optimizer/scheduler.h"

namespace tgc {

struct CacheTransferResult {
  size_t num_rows = 0;
  std::vector<std::string> skipped_row_texts;
};

// Copies tinygrad's results, which have no times, from the file `cache`. tinygrad's key has only a target's device and
// suffix; `target` (empty: tinygrad's default) completes it. Skips unreadable rows, and rows that are not for `target`.
Result<CacheTransferResult> import_cache(const std::string& cache, BeamResults& results, const std::string& target);

// Exports the results for `target` (empty: all) to the file `cache`. If two targets share tinygrad's key, as CPU:CLANG
// and CPU:LLVM do, the result for tinygrad's default target wins.
Result<CacheTransferResult> export_cache(BeamResults& results, const std::string& cache, const std::string& target);

// ---- lists of Opts as Python pickles

// Returns the bytes of pickle.dumps(opts, protocol=4) for a list in which equal Opts are one object, as they are in
// tinygrad's search. Throws Failure for an axis or arg that it cannot write.
std::string pickle_opts(std::span<const Opt> opts);

// Reads a pickle without Python. Fails if `bytes` is not the pickle of a list of Opts, or is too long.
Result<std::vector<Opt>> unpickle_opts(Graph& graph, std::string_view bytes);

}  // namespace tgc
