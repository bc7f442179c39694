#include "lib/compilation/selection.h"

#include <algorithm>
#include <cctype>

#include "lib/support/counted.h"
#include "lib/support/lines.h"
#include "lib/support/settings.h"

namespace tgc {
namespace {

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return std::tolower(uint8_t(x)) == std::tolower(uint8_t(y)); });
}

Result<size_t> find_choice_index(std::string_view word, std::span<const NameChoice> choices,
                                 std::string_view expected) {
  for (size_t i = 0; i < choices.size(); i++)
    if (is_name_of_choice(word, choices[i])) return i;
  std::vector<std::string_view> names;
  for (const NameChoice& c : choices)
    for (std::string_view n : {c.name, c.alias, std::string_view(c.slug)})
      if (!n.empty() && (names.empty() || names.back() != n)) names.push_back(n);
  return unknown_word_error("stage", word, names, std::string(expected));
}

}  // namespace

bool is_name_of_choice(std::string_view word, const NameChoice& c) {
  return equals_ignoring_case(word, c.name) || (!c.alias.empty() && equals_ignoring_case(word, c.alias)) ||
         (!c.slug.empty() && equals_ignoring_case(word, c.slug));
}

size_t end_of_word(std::string_view list, size_t at) {
  for (int depth = 0; at < list.size(); at++) {
    depth += (list[at] == '(') - (list[at] == ')');
    if (list[at] == ',' && depth <= 0) break;
  }
  return std::min(at, list.size());
}

Result<std::vector<std::string_view>> select_stages(std::string_view list, std::span<const NameChoice> choices,
                                                    std::string_view expected) {
  std::vector<bool> chosen(choices.size(), false);
  for (size_t at = 0; at <= list.size();) {
    size_t comma = end_of_word(list, at);
    std::string_view word = trimmed_line(list.substr(at, comma - at));
    at = comma + 1;
    if (word.empty()) {
      if (list.empty()) break;
      return Diag{.message = "an empty name in the list of stages '" + std::string(list) + "'",
                  .expected = "names separated by commas"};
    }
    size_t first = 0, last = choices.size() - 1, dots = word.find("..");
    bool span = dots != word.npos;
    std::string_view from = trimmed_line(word.substr(0, dots)), to = span ? trimmed_line(word.substr(dots + 2)) : from;
    for (auto [end, name] : {std::pair(&first, from), std::pair(&last, to)}) {
      if (name.empty()) continue;
      auto i = find_choice_index(name, choices, expected);
      if (!i) return i.diag();
      *end = *i;
    }
    if (first > last)
      return Diag{.message = "the span '" + std::string(word) + "' runs backwards",
                  .expected = std::string(to) + ".." + std::string(from)};
    for (size_t i = first; i <= last; i++)
      if (!span || choices[i].is_in_spans) chosen[i] = true;
  }
  std::vector<std::string_view> out;
  for (size_t i = 0; i < choices.size(); i++)
    if (chosen[i]) out.push_back(choices[i].name);
  return out;
}

Diag unknown_word_error(std::string_view what, std::string_view word, std::span<const std::string_view> names,
                        std::string expected) {
  std::string near = nearest_names_text(word, names);
  return {.message = "unknown " + std::string(what) + " '" + std::string(word) + "'",
          .expected = near.empty() ? std::move(expected) : near + ", or " + expected};
}

Result<Op> op_of_word(std::string_view word) {
  if (auto op = parse_op(word.starts_with("Ops.") ? word.substr(4) : word)) return *op;
  std::vector<std::string_view> names;
  OpSet::all().for_each([&](Op x) { names.push_back(name_of(x)); });
  return unknown_word_error("op", word, names, "an op of tinygrad 0.12.0");
}

std::optional<uint32_t> number_after_mark(std::string_view text, char mark) {
  if (!text.empty() && text[0] == mark) text.remove_prefix(1);
  return parse_number<uint32_t>(text);
}

}  // namespace tgc
