#include "lib/fuzz/known.h"

#include <algorithm>
#include <sstream>

#include "lib/bisect/bisect.h"
#include "lib/bisect/known_faults.h"
#include "lib/records/input_file.h"
#include "lib/support/lines.h"

namespace tgc {
namespace {

// `*` in `pattern` matches any text.
bool contains_pattern(std::string_view text, std::string_view pattern) {
  const size_t star = pattern.find('*'), at = text.find(pattern.substr(0, star));
  if (at == text.npos) return false;
  return star == pattern.npos || contains_pattern(text.substr(at + star), pattern.substr(star + 1));
}

std::string join_words(const std::string& tree) {
  std::istringstream words(tree);
  std::string out;
  for (std::string word; words >> word;) out += (out.empty() ? "" : " ") + word;
  return out;
}

// A condition is "non-finite" or, for example, "DEVECTORIZE=2".
bool is_condition_met(const std::string& condition, const FindingTraits& finding) {
  if (condition == "non-finite") return finding.is_non_finite;
  size_t equals = condition.find('=');
  auto it = finding.settings.find(condition.substr(0, equals));
  return it != finding.settings.end() && it->second == condition.substr(equals + 1);
}

// Returns true if the entry matches the finding's rule and node, or its symptom and message ("compile: invalid cast
// opcode"). The entry may begin with a condition ("non-finite, mul-fdiv").
bool matches_entry(std::string entry, const FindingTraits& finding) {
  if (size_t comma = entry.find(", "); comma != entry.npos && comma < entry.find(": ")) {
    if (!is_condition_met(entry.substr(0, comma), finding)) return false;
    entry = entry.substr(comma + 2);
  }
  const size_t colon = entry.find(": ");
  const std::string who = entry.substr(0, colon), what = colon == entry.npos ? "" : entry.substr(colon + 2);
  if (who == finding.rule) return contains_pattern(join_words(finding.node), what);
  return colon != entry.npos && who == finding.symptom && contains_pattern(finding.message, what);
}

}  // namespace

void KnownRules::add_table(std::string_view markdown) {
  for (std::string_view line : lines_of(markdown)) {
    size_t begin = line.find('`'), end = line.find('`', begin + 1);
    if (line.starts_with("### `") && end != line.npos) entries_.emplace_back(line.substr(begin + 1, end - begin - 1));
  }
}

Result<KnownRules> KnownRules::read(const std::string& path) {
  auto text = read_file(path);
  if (!text) return text.diag();
  KnownRules out;
  out.add_table(*text);
  return out;
}

KnownRules KnownRules::built_in_rules() {
  KnownRules out;
  for (std::string_view table : kKnownFaultTables) out.add_table(table);
  return out;
}

std::string KnownRules::entry_of_finding(const FindingTraits& finding) const {
  auto entry = std::ranges::find_if(entries_, [&](const std::string& e) { return matches_entry(e, finding); });
  if (entry == entries_.end() && finding.has_out_of_range_constant)
    entry = std::ranges::find(entries_, kOutOfRangeConstantText);
  return entry == entries_.end() ? "" : *entry;
}

}  // namespace tgc
