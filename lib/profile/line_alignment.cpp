#include <algorithm>

#include "lib/profile/align_code.h"
#include "lib/profile/code_source.h"
#include "lib/support/counted.h"

namespace tgc::profile {
namespace {

constexpr size_t kMaxNamedInstructions = 3;

// Returns true for waits, and for other instructions that the compiler adds for scheduling.
bool is_filler(std::string_view text) {
  for (std::string_view name : {"s_wait", "s_nop", "s_clause", "s_delay_alu", "s_set_inst_prefetch", "s_sethalt"})
    if (text.starts_with(name)) return true;
  return false;
}

std::vector<std::string> instruction_texts(std::span<const ListedInstruction> code) {
  std::vector<std::string> out;
  for (const ListedInstruction& i : code) out.push_back(i.text);
  return out;
}

std::string unmatched_text(std::span<const ListedInstruction> code, const std::vector<size_t>& numbers,
                           const char* where) {
  if (numbers.empty()) return "";
  std::string out = formatted("; %zu of %zu instructions are only in %s: ", numbers.size(), code.size(), where);
  for (size_t n = 0; n < std::min(numbers.size(), kMaxNamedInstructions); n++)
    out += (n ? ", '" : "'") + code[numbers[n]].text + "'";
  return out + (numbers.size() > kMaxNamedInstructions ? ", ..." : "");
}

}  // namespace

AlignedLines align_lines(std::span<const ListedInstruction> code, std::span<const ListedInstruction> with_lines) {
  AlignedLines out;
  out.instruction_lines.resize(code.size(), {0, false});
  auto pairs = align_code(instruction_texts(code), instruction_texts(with_lines));
  if (!pairs) return out.difference_text = "; both are too long to be aligned", out;
  std::vector<size_t> only_code, only_other;
  std::vector<bool> has_pair(code.size());
  size_t other_registers = 0;
  for (const AlignedPair& p : *pairs) {
    if (p.b == AlignedPair::kNone) {
      only_code.push_back(p.a);
    } else if (p.a == AlignedPair::kNone) {
      only_other.push_back(p.b);
    } else {
      has_pair[p.a] = true, out.num_matched++, other_registers += !p.is_same_text;
      out.instruction_lines[p.a] = {with_lines[p.b].line, p.is_same_text};
    }
  }
  for (size_t n = code.size(); n-- > 0;) {
    if (has_pair[n]) continue;
    size_t before = n, after = n + 1;
    while (before > 0 && !has_pair[before - 1]) before--;
    while (after < code.size() && !has_pair[after]) after++;
    const uint32_t last = before > 0 ? out.instruction_lines[before - 1].line : 0;
    const uint32_t next = after < code.size() ? out.instruction_lines[after].line : 0;
    if (is_filler(code[n].text) || last == next) out.instruction_lines[n] = {next, false};
  }
  out.difference_text =
      unmatched_text(code, only_code, "the profile's") + unmatched_text(with_lines, only_other, "tgc's");
  if (other_registers)
    out.difference_text += formatted("; %zu have other registers or other targets of branches", other_registers);
  return out;
}

}  // namespace tgc::profile
