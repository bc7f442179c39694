// Where the optimizer asks whether somebody has found opts for a kernel before, as tinygrad asks its disk cache under
// BEAM (tinygrad codegen/opt/postrange.py: apply_opts).
#pragma once
#include <functional>

#include "passes/kernel/optimizer/scheduler.h"

namespace tgc {

// Is called on any thread, with the kernel before its first opt.
using FindOpts = std::function<std::optional<std::vector<Opt>>(const Scheduler& kernel)>;

// Set once, before any kernel is compiled. Without it, and where it finds none, the hand-coded optimizer decides.
void set_find_opts(FindOpts find);
std::optional<std::vector<Opt>> find_opts(const Scheduler& kernel);

}  // namespace tgc
