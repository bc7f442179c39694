// SHA-256 of a byte string (FIPS 180-4), for UOp keys, file names and cache names.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace tgc {

using Sha256 = std::array<uint8_t, 32>;

Sha256 sha256(std::string_view bytes);
std::string to_hex(const Sha256& digest);

}  // namespace tgc
