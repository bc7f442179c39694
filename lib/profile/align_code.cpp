#include "lib/profile/align_code.h"

#include <algorithm>
#include <unordered_map>

#include "lib/profile/instruction_role.h"

namespace tgc::profile {
namespace {

constexpr size_t kMostCells = size_t(1) << 24;
constexpr uint32_t kSame = 4, kSimilar = 3;     // scores of texts that are equal; equal up to registers

// Returns "v" for "v12", "s" for "vcc_lo", and "" for words that are no general registers, such as "exec_lo".
std::string_view register_class(std::string_view word) {
  if (word == "vcc_lo" || word == "vcc_hi") return "s";
  for (std::string_view name : {"v", "s", "a", "ttmp"})
    if (word.size() > name.size() && word.starts_with(name) &&
        std::ranges::all_of(word.substr(name.size()), is_digit))
      return name == "ttmp" ? "s" : name;
  return "";
}

size_t parse_register_number(std::string_view text, size_t& at) {
  size_t out = 0;
  while (at < text.size() && is_digit(text[at]) && out < 1000) out = out * 10 + size_t(text[at++] - '0');
  return out;
}

class TextNumbering {
 public:
  uint32_t number_of_text(const std::string& text) {
    return numbers_.try_emplace(text, uint32_t(numbers_.size())).first->second;
  }

 private:
  std::unordered_map<std::string, uint32_t> numbers_;
};

struct NumberedInstruction {
  uint32_t text_number = 0, masked_text_number = 0;
};

}  // namespace

std::string mask_registers(std::string_view text) {
  size_t at = std::min(text.find(' '), text.size());
  std::string out(text.substr(0, at));
  for (std::string_view suffix : {"_e32", "_e64"})
    if (out.ends_with(suffix)) out.resize(out.size() - suffix.size());
  if (out.starts_with("s_branch") || out.starts_with("s_cbranch")) return out;
  while (at < text.size()) {
    if (!is_word_character(text[at])) {
      out += text[at++];
      continue;
    }
    size_t end = at;
    while (end < text.size() && is_word_character(text[end])) end++;
    std::string_view word = text.substr(at, end - at);
    at = end;
    if (std::string_view name = register_class(word); !name.empty()) {
      out += name;
    } else if (word == "vcc") {
      out += "s[2]";
    } else if (end < text.size() && text[end] == '[' && (word == "v" || word == "s" || word == "a")) {
      size_t from = end + 1, first = parse_register_number(text, from);
      const bool is_range = from < text.size() && text[from] == ':';
      size_t last = is_range ? parse_register_number(text, ++from) : first;
      out += std::string(word) + "[" + std::to_string(last - first + 1) + "]";
      at = std::min(text.find(']', from), text.size() - 1) + 1;
    } else {
      out += word;
    }
  }
  return out;
}

std::optional<std::vector<AlignedPair>> align_code(std::span<const std::string> a, std::span<const std::string> b) {
  TextNumbering texts, similars;
  auto code = [&](std::span<const std::string> list) {
    std::vector<NumberedInstruction> out;
    for (const std::string& text : list)
      out.push_back({texts.number_of_text(text), similars.number_of_text(mask_registers(text))});
    return out;
  };
  const std::vector<NumberedInstruction> x = code(a), y = code(b);
  std::vector<AlignedPair> out, tail;
  size_t begin = 0, x_end = x.size(), y_end = y.size();
  while (begin < x_end && begin < y_end && x[begin].text_number == y[begin].text_number)
    out.push_back({begin, begin, true}), begin++;
  while (x_end > begin && y_end > begin && x[x_end - 1].text_number == y[y_end - 1].text_number)
    tail.push_back({--x_end, --y_end, true});
  const size_t rows = x_end - begin, columns = y_end - begin, width = columns + 1;
  if ((rows + 1) * width > kMostCells) return {};
  std::vector<uint32_t> best((rows + 1) * width);  // by row and column: the largest sum of scores from there on
  auto worth = [&](size_t i, size_t j) {
    const NumberedInstruction &p = x[begin + i], &q = y[begin + j];
    return p.text_number == q.text_number ? kSame : p.masked_text_number == q.masked_text_number ? kSimilar : 0;
  };
  for (size_t i = rows; i-- > 0;)
    for (size_t j = columns; j-- > 0;) {
      uint32_t& cell = best[i * width + j];
      cell = std::max(best[(i + 1) * width + j], best[i * width + j + 1]);
      if (uint32_t w = worth(i, j)) cell = std::max(cell, best[(i + 1) * width + j + 1] + w);
    }
  size_t i = 0, j = 0;
  while (i < rows || j < columns) {
    const uint32_t w = i < rows && j < columns ? worth(i, j) : 0;
    if (w && best[i * width + j] == best[(i + 1) * width + j + 1] + w) {
      out.push_back({begin + i++, begin + j++, w == kSame});
    } else if (j == columns || (i < rows && best[(i + 1) * width + j] >= best[i * width + j + 1])) {
      out.push_back({begin + i++, AlignedPair::kNone, false});
    } else {
      out.push_back({AlignedPair::kNone, begin + j++, false});
    }
  }
  out.insert(out.end(), tail.rbegin(), tail.rend());
  return out;
}

}  // namespace tgc::profile
