// tinygrad's variables of the kernel search, by their names. Each comes from --set KEY=VALUE, else from the
// environment, else from its default.
#pragma once
#include <string>
#include <vector>

#include "lib/support/settings.h"
#include "passes/kernel/optimizer/actions.h"

namespace tgc {

// X(NAME, default, what it does)
#define TGC_BEAM_SETTINGS(X)                                                              \
  X(BEAM, 0, "how many kernels a round keeps; run, dump and bench take what was found")   \
  X(BEAM_UPCAST_MAX, 256, "most elements of upcasts and unrolls")                         \
  X(BEAM_LOCAL_MAX, 1024, "most threads of a group")                                      \
  X(BEAM_UOPS_MAX, 3000, "kernels of so many UOps are left out; 0: none is")              \
  X(BEAM_TIMEOUT_SEC, 10, "a kernel that runs for so long is left out")                   \
  X(BEAM_MIN_PROGRESS, 0.01, "microseconds; a round that gains less is the last")         \
  X(BEAM_ESTIMATE, 1, "1: large grids are timed by a part of them")                       \
  X(BEAM_PADTO, 0, "1: try PADTO, too")                                                   \
  X(TC_OPT, 2, "TC_OPT of a search: 0 exact matches, 1 also reshaped, 2 also padded")

struct BeamSettings {
#define X(name, default_value, help) double name = default_value;
  TGC_BEAM_SETTINGS(X)
#undef X

  // The defaults, the environment, then those of `sets` that are named here, which are taken out of it (TC_OPT is not:
  // it is a setting of the pipeline, too). An error: a value that is no number.
  static Result<BeamSettings> take(std::vector<std::string>& sets);

  ActionLimits limits(const Settings& settings) const;  // of a graph with these settings
};

std::string beam_variables_text();  // of `tgc help beam`

}  // namespace tgc
