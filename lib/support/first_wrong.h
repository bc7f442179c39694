#pragma once
#include <cstddef>
#include <optional>

namespace tgc {

// Searches between `right` and `wrong` for the first number n for which is_wrong(n) is true. is_wrong(right) must be
// false and is_wrong(wrong) true; neither call is made. `is_wrong` returns a bool, or an optional<bool> that is unset
// if nothing is known about n. Then numbers near n are tried instead. Returns a number n for which n is wrong and n - 1
// is right: the first wrong number, if all numbers after it are wrong. Returns nullopt if too many numbers are unknown.
template <class IsWrong>
std::optional<size_t> find_first_wrong(size_t right, size_t wrong, const IsWrong& is_wrong) {
  constexpr size_t kMaxTries = 12;
  while (wrong - right > 1) {
    const size_t middle = right + (wrong - right) / 2;
    size_t at = middle;
    std::optional<bool> here = is_wrong(at);
    for (size_t step = 1; !here && step < kMaxTries; step++) {
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
