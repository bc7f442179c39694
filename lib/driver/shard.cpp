#include "lib/driver/shard.h"

#include <charconv>

namespace tgc {

Result<Shard> Shard::parse(const std::string& text) {
  constexpr uint64_t kMost = 65536;
  Shard out;
  const char *at = text.data(), *end = at + text.size();
  auto number = std::from_chars(at, end, out.number);
  if (number.ec == std::errc() && number.ptr < end && *number.ptr == '/') {
    auto of = std::from_chars(number.ptr + 1, end, out.of);
    if (of.ec == std::errc() && of.ptr == end && out.number >= 1 && out.number <= out.of && out.of <= kMost) return out;
  }
  return Diag{.message = "'" + text + "' is no shard", .expected = "K/N with K from 1 to N"};
}

}  // namespace tgc
