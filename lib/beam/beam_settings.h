// The settings of the kernel search. --set NAME=VALUE overrides an environment variable, which overrides the default.
#pragma once
#include <string>
#include <vector>

#include "lib/support/settings.h"
#include "passes/kernel/optimizer/optimizer.h"

namespace tgc {

// X(NAME, default, help text)
#define TGC_BEAM_SETTINGS(X)                                                              \
  X(BEAM, 0, "number of kernels that a round keeps; run, dump and bench use the results")  \
  X(BEAM_UPCAST_MAX, 256, "maximum elements of upcasts and unrolls")                      \
  X(BEAM_LOCAL_MAX, 1024, "maximum threads of a group")                                   \
  X(BEAM_UOPS_MAX, 3000, "skip kernels with this many UOps; 0: skip none")                \
  X(BEAM_TIMEOUT_SEC, 10, "seconds after which a kernel is stopped and skipped")          \
  X(BEAM_MIN_PROGRESS, 0.01, "microseconds; the search ends after a round that gains less")\
  X(BEAM_ESTIMATE, 1, "1: time a part of a large grid")                                   \
  X(BEAM_PADTO, 0, "1: try PADTO, too")                                                   \
  X(TC_OPT, 2, "TC_OPT of the search: 0 exact matches, 1 also reshaped, 2 also padded")

struct BeamSettings {
#define X(name, default_value, help) double name = default_value;
  TGC_BEAM_SETTINGS(X)
#undef X

  // Reads the settings from the environment and from `sets`, texts such as "BEAM=2". Removes these settings from
  // `sets`, except TC_OPT, which is also a setting of the pipeline. Fails for an invalid value.
  static Result<BeamSettings> extract_settings(std::vector<std::string>& sets);

  ActionLimits limits(const Settings& settings) const;
};

std::string beam_variables_text();

}  // namespace tgc
