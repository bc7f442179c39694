// Pairs the instructions of two versions of a kernel that have the same text up to registers (mask_registers()).
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tgc::profile {

struct AlignedPair {
  static constexpr size_t kNone = SIZE_MAX;
  size_t a = kNone, b = kNone;
  bool is_same_text = false;
};

// Returns an instruction's text without the numbers of registers, the target of a branch, and `_e32` or `_e64`:
// "v_add_f32 v, s, v[2]" for "v_add_f32_e32 v0, s1, v[2:3]".
std::string mask_registers(std::string_view assembly);

// Returns the instructions of both versions in order, paired so that the sum of scores is largest. A pair with the same
// text scores 4, another pair 3. Returns nullopt if the parts that differ are too long.
std::optional<std::vector<AlignedPair>> align_code(std::span<const std::string> a, std::span<const std::string> b);

}  // namespace tgc::profile
