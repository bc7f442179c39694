// The stage "add gpudims": ranges that run on the launch grid become SPECIALs, grouped or split until they fit the
// target's limits (tinygrad codegen/gpudims.py).
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

// One index expression for each of `dims`, made of SPECIALs named prefix0, prefix1, ... no greater than `limits`. With
// `reverse` the last dim gets the first SPECIAL. Throws Failure when the dims cannot be made to fit.
std::vector<UOp> get_grouped_dims(Graph& graph, std::string_view prefix, std::vector<Sint> dims,
                                  const GridLimits& limits, bool reverse = false);

const RuleSet& pm_add_gpudims();  // with the `const Target` as context

}  // namespace tgc
