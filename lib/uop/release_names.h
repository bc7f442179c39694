// Dtypes and enum values that only some releases have: which names a graph of a release may contain, and which release
// a text is from. ops.def has the same for ops; lib/diff/renames.def has names that changed between releases.
#pragma once
#include <algorithm>
#include <string_view>

#include "lib/uop/release.h"

namespace tgc {

struct ReleaseName {
  std::string_view name;
  Release first, last;

  bool is_in(Release r) const { return first <= r && r <= last; }
};
inline constexpr ReleaseName kReleaseNames[] = {
    {"dtypes.index", Release::v0_11, Release::v0_12},       {"dtypes.weakint", Release::v0_13, Release::v0_14},
    {"dtypes.weakfloat", Release::v0_14, Release::v0_14},   {"dtypes.fp8e4m3fnuz", Release::v0_13, Release::v0_14},
    {"dtypes.fp8e5m2fnuz", Release::v0_13, Release::v0_14}, {"AxisType.WEAK", Release::v0_14, Release::v0_14},
    {"AxisType.DEVICE", Release::v0_14, Release::v0_14},    {"AddrSpace.ALU", Release::v0_14, Release::v0_14},
};

// Returns the entry of `name`, or null if the table has none.
inline const ReleaseName* release_name(std::string_view name) {
  auto known = std::ranges::find(kReleaseNames, name, &ReleaseName::name);
  return known == std::end(kReleaseNames) ? nullptr : known;
}

}  // namespace tgc
