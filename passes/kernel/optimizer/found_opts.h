// A hook that supplies opts from an earlier kernel search, like the disk cache that tinygrad reads under BEAM
// (tinygrad codegen/opt/postrange.py:apply_opts).
#pragma once
#include <functional>

#include "passes/kernel/optimizer/scheduler.h"

namespace tgc {

// Returns the opts found for `kernel`, which has no opts applied yet; nullopt if there are none. Called on any thread.
using FindOpts = std::function<std::optional<std::vector<Opt>>(const Scheduler& kernel)>;

// Installs the hook. Call it once, before any kernel is compiled.
void set_find_opts(FindOpts find);
// Calls the hook; nullopt without a hook. If the result is nullopt, the heuristics choose the opts.
std::optional<std::vector<Opt>> find_opts(const Scheduler& kernel);

}  // namespace tgc
