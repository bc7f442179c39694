// Parses the values of --stage and --stages: lists of names (in any case), slugs, aliases, spans `a..b`, and words such
// as `all`. Also parses ops and node numbers.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/result.h"
#include "lib/uop/ops.h"

namespace tgc {

// A stage, or another word, that a list can select.
struct Choice {
  std::string_view name;
  std::string_view alias;  // another spelling; may be empty
  std::string slug;        // a third spelling; may be empty
  bool in_spans = true;    // false: selected only by its own name, not as part of a span
};

// Returns the names that the comma-separated `list` selects, in the order of `choices`, each once. `a..b` selects from
// a to b, `a..` from a on, `..b` up to b. The error for an unknown word suggests the nearest names; if none is near, it
// names `expected`.
Result<std::vector<std::string_view>> select_stages(std::string_view list, std::span<const Choice> choices,
                                                    std::string_view expected = "a stage that `tgc stages` lists");

// Returns the error "unknown WHAT 'RDUCE', expected REDUCE". It suggests the nearest of `names`; if none is near, it
// names `expected`.
Diag unknown_name(std::string_view what, std::string_view word, std::span<const std::string_view> names,
                  std::string expected);

// Returns the op that `word` names: "ADD" or "Ops.ADD".
Result<Op> op_of_word(std::string_view word);

// Parses a number with or without the character `mark` before it: "#12" or "12". Returns nullopt for other texts.
std::optional<uint32_t> number_after(std::string_view text, char mark);

// Returns true if `word` is the name, alias or slug of the choice, in any case.
bool names_choice(std::string_view word, const Choice& choice);

}  // namespace tgc
