#include "lib/emulate/hip/instruction.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>

#include "lib/support/counted.h"
#include "lib/support/lines.h"

namespace tgc::hip {
namespace {

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// Parses "5" of v5 or "[4:7]" of s[4:7]. Returns false if the numbers are malformed or not below `limit`.
bool parse_registers(std::string_view text, uint32_t base, uint32_t limit, Operand::Kind kind, Operand& o) {
  std::optional<uint32_t> first, last;
  if (text.starts_with('[') && text.ends_with(']')) {
    text = text.substr(1, text.size() - 2);
    size_t colon = text.find(':');
    first = parse_number<uint32_t>(text.substr(0, colon));
    last = colon == text.npos ? first : parse_number<uint32_t>(text.substr(colon + 1));
  } else {
    first = last = parse_number<uint32_t>(text);
  }
  if (!first || !last || *last < *first || *last >= limit) return false;
  o.kind = kind, o.register_index = base + *first, o.count = *last - *first + 1;
  return true;
}

struct NamedRegister {
  std::string_view name;
  uint32_t register_index, count;
};
constexpr NamedRegister kNamed[] = {
    {"vcc", kVcc, 2},   {"vcc_lo", kVcc, 1},   {"vcc_hi", kVcc + 1, 1},
    {"exec", kExec, 2}, {"exec_lo", kExec, 1}, {"exec_hi", kExec + 1, 1},
    {"m0", kM0, 1},     {"scc", kScc, 1},      {"src_scc", kScc, 1},
};

Operand parse_operand(std::string_view text) {
  Operand o;
  o.text = text;
  if (take_prefix(text, "-") && !text.empty() && (std::isdigit(static_cast<unsigned char>(text[0])) == 0))
    o.is_negative = true;
  else text = o.text;
  if (text.starts_with("neg(") && text.ends_with(")")) o.is_negative = true, text = text.substr(4, text.size() - 5);
  if (text.starts_with("sext(") && text.ends_with(")"))
    o.is_sign_extended = true, text = text.substr(5, text.size() - 6);
  if (text.size() > 2 && text.front() == '|' && text.back() == '|')
    o.is_absolute = true, text = text.substr(1, text.size() - 2);
  if (text == "null") return o.kind = Operand::Null, o;
  if (text == "off") return o.kind = Operand::Off, o;
  for (const NamedRegister& r : kNamed)
    if (r.name == text) return o.kind = Operand::Scalar, o.register_index = r.register_index, o.count = r.count, o;
  std::string_view rest = text;
  if (take_prefix(rest, "ttmp") && parse_registers(rest, kTtmp, 16, Operand::Scalar, o)) return o;
  if (take_prefix(rest = text, "v") && parse_registers(rest, 0, 256, Operand::Vector, o)) return o;
  if (take_prefix(rest = text, "a") && parse_registers(rest, kFirstAccumulator, 256, Operand::Vector, o)) return o;
  if (take_prefix(rest = text, "s") && parse_registers(rest, 0, 106, Operand::Scalar, o)) return o;
  rest = text;
  bool minus = take_prefix(rest, "-");
  if (rest.empty() || !std::isdigit(static_cast<unsigned char>(rest[0]))) return o.kind = Operand::Word, o;
  if (rest.find('.') != rest.npos && !rest.starts_with("0x")) {
    o.kind = Operand::Float, o.float_value = std::strtod(std::string(text).c_str(), nullptr);
    return o;
  }
  o.kind = Operand::Integer;
  o.is_literal = take_prefix(rest, "0x");
  uint64_t value = 0;
  auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value, o.is_literal ? 16 : 10);
  if (error != std::errc() || end != rest.data() + rest.size()) return o.kind = Operand::Word, o;
  o.integer = minus ? -int64_t(value) : int64_t(value);
  return o;
}

// Parses "offset:16", "op_sel:[0,1]", "dst_sel:BYTE_1" or "clamp".
OpcodeModifier parse_modifier(std::string_view text) {
  OpcodeModifier m;
  size_t colon = text.find(':');
  m.name = text.substr(0, colon);
  if (colon == text.npos) return m;
  m.text_value = text.substr(colon + 1);
  std::string_view rest = m.text_value;
  if (rest.starts_with('[') && rest.ends_with(']')) rest = rest.substr(1, rest.size() - 2);
  while (!rest.empty()) {
    size_t comma = std::min(rest.find(','), rest.size());
    Operand value = parse_operand(trimmed_line(rest.substr(0, comma)));
    if (value.kind == Operand::Integer) m.values.push_back(value.integer);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return m;
}

// Splits at `separator` outside of brackets and parentheses; drops empty parts.
std::vector<std::string_view> split_outside_brackets(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i <= text.size(); i++) {
    if (i < text.size() && (text[i] == '[' || text[i] == '(')) depth++;
    if (i < text.size() && (text[i] == ']' || text[i] == ')')) depth--;
    if (i < text.size() && (text[i] != separator || depth > 0)) continue;
    std::string_view part = trimmed_line(text.substr(begin, i - begin));
    if (!part.empty()) out.push_back(part);
    begin = i + 1;
  }
  return out;
}

}  // namespace

const OpcodeModifier* Instruction::modifier(std::string_view name) const {
  auto found = std::ranges::find(modifiers, name, &OpcodeModifier::name);
  return found == modifiers.end() ? nullptr : &*found;
}

int64_t Instruction::modifier_value(std::string_view name, int64_t otherwise) const {
  const OpcodeModifier* m = modifier(name);
  return m && !m->values.empty() ? m->values[0] : otherwise;
}

Instruction parse_instruction(std::string_view text) {
  Instruction out;
  out.text = text = trimmed_line(text);
  size_t space = std::min(text.find(' '), text.size());
  out.opcode = text.substr(0, space);
  if (out.opcode.empty()) throw Failure("an empty instruction");
  // commas separate operands; modifiers follow the last operand, separated by spaces
  for (std::string_view part : split_outside_brackets(text.substr(space), ',')) {
    std::vector<std::string_view> words = split_outside_brackets(part, ' ');
    for (size_t n = 0; n < words.size(); n++)
      if (n == 0 && words[0].find(':') == words[0].npos) out.operands.push_back(parse_operand(words[0]));
      else if (n == 0 && words[0].find('[') < words[0].find(':')) out.operands.push_back(parse_operand(words[0]));
      else out.modifiers.push_back(parse_modifier(words[n]));
  }
  return out;
}

std::vector<Instruction> read_listing(std::string_view listing, uint64_t begin, uint64_t end) {
  std::vector<Instruction> out;
  uint32_t source_line = 0;
  for (std::string_view line : lines_of(listing)) {
    constexpr std::string_view kSourceLine = "; line ";
    if (line.starts_with(kSourceLine))
      source_line = parse_number<uint32_t>(line.substr(kSourceLine.size())).value_or(0);
    // a line of the listing: "  1614: 000046d600053d00      \tv_lshl_add_u32 v0, v0, 2, s15"
    size_t tab = line.find('\t'), colon = line.find(':');
    if (tab == line.npos || colon > tab) continue;
    std::string_view place = trimmed_line(line.substr(0, colon)),
                     hex = trimmed_line(line.substr(colon + 1, tab - colon - 1));
    uint64_t address = 0;
    if (std::from_chars(place.data(), place.data() + place.size(), address, 16).ec != std::errc()) continue;
    if (address < begin || address >= end) continue;
    std::string_view text = trimmed_line(line.substr(tab + 1));
    if (text.starts_with(".byte"))
      throw Failure("the bytes " + std::string(hex) + " at 0x" + std::string(place) + " are not an instruction");
    std::vector<Instruction> issued;
    for (size_t next; !text.empty(); text = next == text.npos ? std::string_view() : text.substr(next + 4))
      issued.push_back(parse_instruction(text.substr(0, next = text.find(" :: "))));
    for (Instruction& i : issued) i.address = address, i.source_line = source_line;
    if (!issued.empty()) issued.back().bytes = uint32_t(hex.size() / 2);
    std::ranges::move(issued, std::back_inserter(out));
  }
  return out;
}

}  // namespace tgc::hip
