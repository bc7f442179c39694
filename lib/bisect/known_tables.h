// The texts of testdata/known_unsound*.md. The build generates the definition.
#pragma once
#include <span>
#include <string_view>

namespace tgc {

extern const std::span<const std::string_view> kKnownTables;

}  // namespace tgc
