// The stage "add gpudims": replaces the ranges of the launch grid by SPECIALs, grouped or split to fit the target's
// limits (tinygrad codegen/gpudims.py).
#pragma once
#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "lib/rewrite/rules.h"
#include "lib/target/target.h"
#include "lib/uop/sint.h"

namespace tgc {

using GridLimits = std::optional<std::array<int64_t, 3>>;

// Returns one index expression for each of `dims`, built from SPECIALs named prefix0, prefix1, ... whose sizes are
// within `limits`. With `reverse`, the last dim gets the first SPECIAL. Throws Failure if the dims cannot be changed to
// fit.
std::vector<UOp> get_grouped_dims(Graph& graph, std::string_view prefix, std::vector<Sint> dims,
                                  const GridLimits& limits, bool reverse = false);

const RuleSet& pm_add_gpudims();  // context: const Target

}  // namespace tgc
