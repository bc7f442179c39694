// Aligns the instructions of two versions of a kernel, such as the code of two compilers: by opcodes, and by operands
// up to the numbers of registers.
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
  static constexpr size_t kNone = SIZE_MAX;  // the other version has no such instruction
  size_t a = kNone, b = kNone;
  bool is_same = false;  // the same text; else the same up to registers, or only one version has it
};

// Returns an instruction, as LLVM prints it, without the numbers of its registers, the targets of branches, and the
// suffix for the encoding: "v_add_f32_e32 v0, s1, v[2:3]" becomes "v_add_f32 v, s, v[2]".
std::string up_to_registers(std::string_view assembly);

// Returns all instructions of both versions in order, with as many pairs as possible; pairs of the same text count more
// than those of the same text up to registers. Empty: the versions are too long.
std::optional<std::vector<AlignedPair>> align_code(std::span<const std::string> a, std::span<const std::string> b);

}  // namespace tgc::profile
