// A deterministic part of many, so that several processes or machines share them without a word: the Kth of N.
#pragma once
#include <cstdint>
#include <string>

#include "lib/support/result.h"

namespace tgc {

struct Shard {
  uint64_t number = 1, of = 1;

  // "2/4": the second of four.
  static Result<Shard> parse(const std::string& text);
  // Whether what is counted or hashed as `n` is in it.
  bool has(uint64_t n) const { return n % of == number - 1; }
};

}  // namespace tgc
