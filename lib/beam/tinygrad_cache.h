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

// Copies tinygrad's results, which have no times. `target` (empty: tinygrad's default) completes tinygrad's key, which
// has only a target's device and suffix. Skips unreadable rows, and rows whose device or suffix is another.
Result<CacheTransferResult> import_cache(const std::string& cache, BeamResults& results, const std::string& target);

// Exports the results for `target` (empty: all). If two targets share tinygrad's key, as CPU:CLANG and CPU:LLVM do, the
// result for tinygrad's default target wins.
Result<CacheTransferResult> export_cache(BeamResults& results, const std::string& cache, const std::string& target);

// ---- lists of Opts as Python pickles

// As pickle.dumps (protocol 4). Equal Opts are one object, as in tinygrad's search.
std::string pickle_opts(std::span<const Opt> opts);

// Does not run any Python. A pickle of anything else is an error.
Result<std::vector<Opt>> unpickle_opts(Graph& graph, std::string_view bytes);

}  // namespace tgc
