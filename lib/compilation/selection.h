// Parses lists of stages: names, slugs and aliases (case-insensitive), spans `a..b`, and words such as `all`. Also
// parses ops and node numbers.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/result.h"
#include "lib/uop/ops.h"

namespace tgc {

// A word that a list can select: a stage, or a word such as `all`.
struct NameChoice {
  std::string_view name;
  std::string_view alias;
  std::string slug;         // may be empty
  bool is_in_spans = true;  // spans a..b can include it
};

// Returns the position of the comma that ends the word at `at`, or the size of the list. Commas in parentheses end no
// word: "padto (1,) 16".
size_t end_of_word(std::string_view list, size_t at);

// Returns the names of the `choices` that the comma-separated `list` selects, in their order. `a..b` selects from a to
// b, `a..` from a on, `..b` up to b. Fails for a malformed list or an unknown word.
Result<std::vector<std::string_view>> select_stages(std::string_view list, std::span<const NameChoice> choices,
                                                    std::string_view expected = "a stage that `tgc stages` lists");

// Returns the error "unknown WHAT 'RDUCE', expected REDUCE, or EXPECTED", with the `names` that resemble `word`.
Diag unknown_word_error(std::string_view what, std::string_view word, std::span<const std::string_view> names,
                        std::string expected);

// Returns the op that `word` names: "ADD" or "Ops.ADD". Fails for an unknown op.
Result<Op> op_of_word(std::string_view word);

// Parses a number after an optional character `mark`: "#12" or "12". Returns nullopt for another text.
std::optional<uint32_t> number_after_mark(std::string_view text, char mark);

// Returns true if `word` is the name, alias or slug of `choice`, whatever the case of its letters.
bool is_name_of_choice(std::string_view word, const NameChoice& choice);

}  // namespace tgc
