// The names that each known release has (releases.def): readers check the names in a graph, and guess the release of a
// text. lib/diff/renames.def lists changed names.
#pragma once
#include <span>
#include <string_view>

#include "lib/uop/release.h"

namespace tgc {

// Returns the releases of releases.def, the oldest first. A release without an enumerator is above Release::Other, so
// that it counts as newer than 0.14, as an unknown release does.
std::span<const Release> known_releases();

// Return whether a known release has an op, a dtype or enum value ("dtypes.weakint", "AxisType.WEAK"), or a dataclass
// of args with this field ("" for any). They return false for Release::Other, whose names are unknown.
bool has_op(Release release, std::string_view op);
bool has_name(Release release, std::string_view name);
bool has_field(Release release, std::string_view record, std::string_view field);

}  // namespace tgc
