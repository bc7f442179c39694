// The binary search of bisect, reduce and run.
#pragma once
#include <cstddef>
#include <optional>

namespace tgc {

// Searches for the first number after `right`, for which the answer is right, up to `wrong`, for which it is wrong.
// `is_wrong(n)` returns a bool, or an optional<bool> that is unset if nothing is known about `n`: then numbers near `n`
// are tried. Does not call is_wrong(right) or is_wrong(wrong). Returns a number n for which n - 1 is right and n is
// wrong; the first one, if all numbers before it are right and all after it wrong. Returns nullopt if too many numbers
// are unknown.
template <class IsWrong>
std::optional<size_t> first_wrong(size_t right, size_t wrong, const IsWrong& is_wrong) {
  constexpr size_t kMostTries = 12;  // numbers near the middle
  while (wrong - right > 1) {
    const size_t middle = right + (wrong - right) / 2;
    size_t at = middle;
    std::optional<bool> here = is_wrong(at);
    for (size_t step = 1; !here && step < kMostTries; step++) {
      const size_t distance = (step + 1) / 2;
      const bool is_up = step % 2;
      if (is_up ? middle + distance >= wrong : middle - right <= distance) continue;
      at = is_up ? middle + distance : middle - distance;
      here = is_wrong(at);
    }
    if (!here) return std::nullopt;
    (*here ? wrong : right) = at;
  }
  return wrong;
}

}  // namespace tgc
