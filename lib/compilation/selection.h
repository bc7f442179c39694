// Lists of stages as --stage and --stages take them: names in any case, slugs or aliases, spans `a..b`, and words such
// as `all`.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/result.h"
#include "lib/uop/ops.h"

namespace tgc {

struct Choice {
  std::string_view name;   // what the list selects
  std::string_view alias;  // another spelling, may be empty
  std::string slug;        // a third one, may be empty
  bool in_spans = true;    // false: a word of its own, outside the order
};

// The names in `list` (comma-separated) that it selects of `choices`, in the order of `choices`, each once. `a..b`
// selects from a to b, `a..` to the end, `..b` from the beginning. A word that is no choice is an error that suggests
// the nearest ones, or else `expected`.
Result<std::vector<std::string_view>> select_stages(
    std::string_view list, std::span<const Choice> choices,
    std::string_view expected = "one of those that `tgc stages` lists");

// "unknown op 'RDUCE', expected REDUCE": no `what` is called so; the nearest of `names`, else what `expected` says.
Diag unknown_name(std::string_view what, std::string_view word, std::span<const std::string_view> names,
                  std::string expected);

// The op that `word` names, as ADD or Ops.ADD.
Result<Op> op_of_word(std::string_view word);

// The number of a node: "#12" or "12" with the mark '#'; nullopt: it is none.
std::optional<uint32_t> number_after(std::string_view text, char mark);

// Whether `word` names that choice.
bool names_choice(std::string_view word, const Choice& choice);

}  // namespace tgc
