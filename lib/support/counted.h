// "1 kernel", "3 kernels".
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace tgc {

// So many of them, for people to read: the noun with an s where there is not one alone.
inline std::string counted(uint64_t n, std::string_view noun) {
  return std::to_string(n) + " " + std::string(noun) + (n == 1 ? "" : "s");
}

}  // namespace tgc
