// Aligns the instructions of two versions of a kernel, such as the code of two compilers: pairs instructions with the
// same text, or with texts that mask_registers() makes equal.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tgc::profile {

// An instruction of each version, by index, or of only one version.
struct AlignedPair {
  static constexpr size_t kNone = SIZE_MAX;  // value of `a` or `b` if that version has no such instruction
  size_t a = kNone, b = kNone;
  bool is_same = false;  // both have the same text; false: the texts differ, or only one version has it
};

// Returns the text of an instruction, as LLVM prints it, without the numbers of its registers, the target of a branch,
// and the suffix for the encoding. "v_add_f32_e32 v0, s1, v[2:3]" becomes "v_add_f32 v, s, v[2]"; [2] is the number of
// registers.
std::string mask_registers(std::string_view assembly);

// Returns all instructions of both versions in order, paired for the largest sum: a pair with the same text counts 4,
// any other pair 3. Returns nullopt if the parts that differ are too long.
std::optional<std::vector<AlignedPair>> align_code(std::span<const std::string> a, std::span<const std::string> b);

}  // namespace tgc::profile
