#include <charconv>

#include "lib/compile/engines.h"
#include "lib/contain/contain.h"
#include "lib/profile/profile.h"
#include "lib/support/lines.h"

namespace tgc::profile {
namespace {

constexpr double kMostSeconds = 20;
constexpr uint64_t kMostMemory = uint64_t(1) << 30;

// Parses lines such as "  1600: 000085bf              \ts_clause 0x1". Calls each(address, text, source line).
template <class Each>
void parse_listing(std::string_view listing, Each&& each) {
  constexpr std::string_view kSourceLine = "; line ";
  uint32_t source_line = 0;
  for (std::string_view line : lines_of(listing)) {
    if (line.starts_with(kSourceLine)) {
      source_line = 0;
      std::from_chars(line.data() + kSourceLine.size(), line.data() + line.size(), source_line);
    }
    size_t first = line.find_first_not_of(' '), colon = line.find(": "), tab = line.find('\t');
    if (first == std::string_view::npos || colon == std::string_view::npos || tab == std::string_view::npos) continue;
    uint64_t address = 0;
    auto [end, error] = std::from_chars(line.data() + first, line.data() + colon, address, 16);
    if (error != std::errc() || end != line.data() + colon) continue;
    std::string text(line.substr(tab + 1));
    for (char& c : text)
      if (c == '\t') c = ' ';
    text.resize(text.find_last_not_of(' ') + 1);
    each(address, std::move(text), source_line);
  }
}

}  // namespace

std::map<uint64_t, std::string> disassemble_program(const Program& program, const std::string& arch) {
  auto engine = llvm_engine();
  auto text = find_text(program.lib);
  if (!engine || !text || arch.empty()) return {};
  // in a worker, because LLVM 19 aborts on some code (lib/emulate/hip/driver_test.cpp)
  std::string elf = make_elf(*text);
  auto listing = contain(
      [&](Worker& worker) -> Result<std::string> {
        worker.confine({.rights = Rights::Compute, .memory = kMostMemory, .seconds = kMostSeconds});
        auto made = (*engine)->disassemble(elf, {.triple = "amdgcn-amd-amdhsa", .cpu = arch});
        if (!made.ok) return Diag{made.complaint.message};
        return made.value;
      },
      {.timeout_seconds = kMostSeconds});
  std::map<uint64_t, std::string> out;
  if (listing)
    parse_listing(*listing, [&](uint64_t address, std::string line, uint32_t) { out[address] = std::move(line); });
  return out;
}

std::map<uint64_t, uint32_t> source_lines(std::string_view listing) {
  std::map<uint64_t, uint32_t> out;
  parse_listing(listing, [&](uint64_t address, const std::string&, uint32_t line) { out[address] = line; });
  return out;
}

}  // namespace tgc::profile
