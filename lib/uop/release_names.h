// Lists the dtypes and enum values that only some tinygrad releases have. Readers use the list to check the names in a
// graph and to guess the release of a text. ops.def lists the ops; lib/diff/renames.def lists changed names.
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

// Returns the table entry for `name`; null if the table has no entry for it.
inline const ReleaseName* release_name(std::string_view name) {
  auto known = std::ranges::find(kReleaseNames, name, &ReleaseName::name);
  return known == std::end(kReleaseNames) ? nullptr : known;
}

}  // namespace tgc
