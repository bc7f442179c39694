// Formats a count with its noun: "1 kernel", "3 kernels".
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace tgc {

// Returns "N NOUN", with an "s" appended to the noun unless n is 1.
inline std::string counted(uint64_t n, std::string_view noun) {
  return std::to_string(n) + " " + std::string(noun) + (n == 1 ? "" : "s");
}

}  // namespace tgc
