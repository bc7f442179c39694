#include "lib/profile/instruction_role.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace tgc::profile {
namespace {

constexpr uint16_t kFirstScalar = 1024, kVcc = kFirstScalar + 106, kExec = kFirstScalar + 126, kScc = 2000;
constexpr uint16_t kFirstAccumulator = 512, kRegistersOfClass = 512;  // accumulators: registers of CDNA's matrix units

uint32_t parse_leading_number(std::string_view text) {
  uint32_t out = 0;
  const bool is_hex = text.starts_with("0x");
  if (is_hex) text.remove_prefix(2);
  std::from_chars(text.data(), text.data() + text.size(), out, is_hex ? 16 : 10);
  return out;
}

void add_registers(std::string_view operand, std::vector<uint16_t>& out) {
  for (size_t at = 0; at < operand.size();) {
    if (!is_word_character(operand[at])) {
      at++;
      continue;
    }
    size_t end = at;
    while (end < operand.size() && is_word_character(operand[end])) end++;
    std::string_view word = operand.substr(at, end - at);
    at = end;
    if (word.starts_with("vcc")) out.insert(out.end(), {kVcc, uint16_t(kVcc + 1)});
    if (word.starts_with("exec")) out.push_back(kExec);
    const char letter = word[0];
    const uint16_t first = letter == 'v' ? 0 : letter == 's' ? kFirstScalar : letter == 'a' ? kFirstAccumulator : kScc;
    if (first == kScc) continue;
    if (word.size() > 1 && std::ranges::all_of(word.substr(1), is_digit)) {
      out.push_back(uint16_t(first + parse_leading_number(word.substr(1)) % kRegistersOfClass));
    } else if (word.size() == 1 && end < operand.size() && operand[end] == '[') {
      std::string_view range = operand.substr(end + 1, operand.find(']', end) - end - 1);
      const size_t colon = range.find(':');
      const uint32_t low = parse_leading_number(range),
                     high = colon == range.npos ? low : parse_leading_number(range.substr(colon + 1));
      for (uint32_t n = low; n <= high && n < low + 64; n++) out.push_back(uint16_t(first + n % kRegistersOfClass));
      at = std::min(operand.find(']', end), operand.size());
    }
  }
}

// `text`: an instruction, or one half of a dual instruction.
void add_operands(std::string_view text, InstructionRole& out) {
  const size_t space = std::min(text.find(' '), text.size());
  const std::string_view name = text.substr(0, space);
  std::vector<std::string_view> operands;
  for (size_t at = space; at < text.size();) {
    size_t end = std::min(text.find(',', at), text.size());
    operands.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  size_t results = 1;
  if (out.is_store || out.unit == InstructionUnit::Branch || out.unit == InstructionUnit::Wait ||
      out.unit == InstructionUnit::Export || name.starts_with("s_cmp") || name.starts_with("s_bitcmp") ||
      name.starts_with("v_cmpx"))
    results = 0;
  if (name.find("_co_") != name.npos) results = 2;  // the second result is a carry
  for (size_t n = 0; n < operands.size(); n++)
    add_registers(operands[n], n < results ? out.written_registers : out.read_registers);
  const bool accumulates = name.find("fmac") != name.npos || name.find("mac_") != name.npos;
  if (accumulates && !operands.empty()) add_registers(operands[0], out.read_registers);
  if (name.starts_with("v_cmpx") || name.find("saveexec") != name.npos) out.written_registers.push_back(kExec);
  if (out.unit == InstructionUnit::Scalar) out.written_registers.push_back(kScc);
  if (name.find("_scc") != name.npos || name.starts_with("s_addc") || name.starts_with("s_subb") ||
      name.starts_with("s_cselect"))
    out.read_registers.push_back(kScc);
  if (name.find("_vcc") != name.npos) out.read_registers.insert(out.read_registers.end(), {kVcc, uint16_t(kVcc + 1)});
  if (name.find("_exec") != name.npos && out.unit == InstructionUnit::Branch) out.read_registers.push_back(kExec);
}

struct WaitCounterName {
  std::string_view name;
  WaitCounter counter;
};
constexpr WaitCounterName kOld[] = {{"vmcnt(", WaitCounter::Load}, {"lgkmcnt(", WaitCounter::Lgkm},
                                    {"expcnt(", WaitCounter::Export}, {"vscnt(", WaitCounter::Store}};
constexpr WaitCounterName kNew[] = {{"loadcnt", WaitCounter::Load},     {"storecnt", WaitCounter::Store},
                                    {"dscnt", WaitCounter::Lds},        {"kmcnt", WaitCounter::Scalar},
                                    {"samplecnt", WaitCounter::Sample}, {"bvhcnt", WaitCounter::Bvh},
                                    {"expcnt", WaitCounter::Export}};

// Parses waits such as "s_waitcnt vmcnt(1) lgkmcnt(0)", "s_waitcnt_vscnt null, 0x0", "s_wait_kmcnt 0x0" and
// "s_wait_loadcnt_dscnt 0x102".
void add_waits(std::string_view text, InstructionRole& out) {
  if (text.starts_with("s_waitcnt ")) {
    for (auto& [name, counter] : kOld)
      if (size_t at = text.find(name); at != text.npos)
        out.waits.push_back({counter, parse_leading_number(text.substr(at + name.size()))});
    return;
  }
  const size_t last = text.find_last_of(' ');
  const std::string_view name = text.substr(0, text.find(' '));
  const uint32_t value = last == text.npos ? 0 : parse_leading_number(text.substr(last + 1));
  if (name.starts_with("s_waitcnt_")) {
    for (auto& [counter_name, counter] : kOld)
      if (name.substr(10) == counter_name.substr(0, counter_name.size() - 1)) out.waits.push_back({counter, value});
    return;
  }
  if (name == "s_wait_idle")
    for (size_t n = 0; n < kNumWaitCounters; n++) out.waits.push_back({WaitCounter(n), 0});
  if (name == "s_wait_loadcnt_dscnt" || name == "s_wait_storecnt_dscnt") {
    const WaitCounter first = name[7] == 'l' ? WaitCounter::Load : WaitCounter::Store;
    out.waits = {{first, value >> 8 & 63}, {WaitCounter::Lds, value & 63}};
    return;
  }
  for (auto& [counter_name, counter] : kNew)
    if (name.starts_with("s_wait_") && name.substr(7) == counter_name) out.waits.push_back({counter, value});
}

// Returns the bytes of a lane's access: 12 for "global_load_dwordx3"; 4 if the name has no known type.
uint32_t bytes_of_access(std::string_view name) {
  constexpr std::pair<std::string_view, uint32_t> kTypes[] = {
      {"b128", 16}, {"b96", 12}, {"64", 8}, {"_x2", 8}, {"b32", 4}, {"dwordx4", 16}, {"dwordx3", 12}, {"dwordx2", 8},
      {"dword", 4}, {"16", 2}, {"short", 2}, {"u8", 1}, {"i8", 1}, {"b8", 1}, {"byte", 1}};
  for (auto& [type, bytes] : kTypes)
    if (name.find(type) != name.npos && !(bytes == 2 && name.find("8") != name.npos)) return bytes;
  return 4;
}

void sort_unique(std::vector<uint16_t>& list) {
  std::ranges::sort(list);
  list.erase(std::ranges::unique(list).begin(), list.end());
}

}  // namespace

bool InstructionRole::depends_on(const InstructionRole& earlier) const {
  auto meets = [](const std::vector<uint16_t>& a, const std::vector<uint16_t>& b) {
    for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
      if (a[i] == b[j]) return true;
      a[i] < b[j] ? i++ : j++;
    }
    return false;
  };
  return meets(read_registers, earlier.written_registers) || meets(written_registers, earlier.written_registers);
}

InstructionRole parse_role(std::string_view text, Isa isa) {
  using Unit = InstructionUnit;
  InstructionRole out;
  const std::string_view name = text.substr(0, text.find(' '));
  auto starts = [&](std::initializer_list<std::string_view> prefixes) {
    return std::ranges::any_of(prefixes, [&](std::string_view p) { return name.starts_with(p); });
  };
  const bool is_rdna4 = isa == Isa::Rdna4, is_cdna = !is_rdna(isa);
  const WaitCounter lds = is_rdna4 ? WaitCounter::Lds : WaitCounter::Lgkm;
  out.is_store = name.find("_store") != name.npos || starts({"ds_write"});
  if (starts({"s_wait", "s_sleep"})) {
    out.unit = Unit::Wait;
    add_waits(text, out);
  } else if (starts({"s_barrier"})) {
    out.unit = Unit::Barrier;
  } else if (starts({"s_branch", "s_cbranch", "s_setpc", "s_swappc", "s_call"})) {
    out.unit = Unit::Branch;
  } else if (name == "s_endpgm") {
    out.is_program_end_op = true;
  } else if (starts({"s_load", "s_buffer_load", "s_store", "s_atomic", "s_dcache", "s_gl1", "s_mem"})) {
    out.unit = Unit::ScalarMemory;
    out.raised_counters = {is_rdna4 ? WaitCounter::Scalar : WaitCounter::Lgkm};
  } else if (starts({"s_sendmsg"})) {
    if (name.find("rtn") != name.npos) out.raised_counters = {is_rdna4 ? WaitCounter::Scalar : WaitCounter::Lgkm};
  } else if (starts({"s_nop", "s_clause", "s_delay_alu", "s_set_inst_prefetch", "s_sethalt", "s_code_end"})) {
    out.unit = Unit::Other;
  } else if (starts({"s_"})) {
    out.unit = Unit::Scalar;
  } else if (starts({"ds_"})) {
    out.unit = Unit::Lds, out.raised_counters = {lds};
    if (name.find("2addr") != name.npos || name.find("read2") != name.npos || name.find("write2") != name.npos)
      out.num_addresses = 2;
    for (std::string_view word : {"_load", "_store", "_read", "_write"})
      if (name.find(word) != name.npos) out.lane_bytes = out.num_addresses * bytes_of_access(name);
  } else if (starts({"global_", "flat_", "scratch_", "buffer_", "tbuffer_", "image_"})) {
    out.unit = Unit::Memory;
    out.is_scratch = starts({"scratch_"});
    // an atomic operation that returns the old value counts as a load: "glc", on CDNA "sc0", on RDNA4
    // "th:TH_ATOMIC_RETURN"
    const bool is_atomic = name.find("_atomic") != name.npos;
    const bool returns = std::ranges::any_of(std::array{" glc", " sc0", "RETURN"},
                                             [&](const char* word) { return text.find(word) != text.npos; });
    const bool counts_store = (out.is_store || (is_atomic && !returns)) && !is_cdna;
    out.is_store |= is_atomic && !returns;
    if (!starts({"buffer_wbl", "buffer_inv", "buffer_gl", "global_inv", "global_wb"}))
      out.raised_counters = {counts_store                           ? WaitCounter::Store
                             : is_rdna4 && starts({"image_sample"}) ? WaitCounter::Sample
                                                                    : WaitCounter::Load};
    if (starts({"flat_"})) out.raised_counters.push_back(lds);
    out.lane_bytes = bytes_of_access(name);
  } else if (starts({"exp"})) {
    out.unit = Unit::Export, out.raised_counters = {WaitCounter::Export};
  } else if (starts({"v_"})) {
    out.unit = Unit::Vector;
  }
  for (std::string_view rest = text; !rest.empty();) {  // a dual instruction: "v_dual_... :: v_dual_..."
    const size_t end = rest.find(" :: ");
    add_operands(rest.substr(0, end), out);
    rest = end == rest.npos ? std::string_view() : rest.substr(end + 4);
  }
  sort_unique(out.read_registers), sort_unique(out.written_registers);
  return out;
}

}  // namespace tgc::profile
