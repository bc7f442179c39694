// Shard K of N: lets several processes or machines divide work without communicating.
#pragma once
#include <cstdint>
#include <string>

#include "lib/support/result.h"

namespace tgc {

struct Shard {
  uint64_t number = 1, of = 1;

  // Parses "2/4", the second of four shards.
  static Result<Shard> parse(const std::string& text);
  // Returns whether the item with number or hash `n` is in this shard.
  bool has(uint64_t n) const { return n % of == number - 1; }
};

}  // namespace tgc
