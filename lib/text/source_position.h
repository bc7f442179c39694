// Positions in an input text, for messages.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/result.h"

namespace tgc {

// Where the nodes of a graph stand in the text they were read from: nodes with ids from `first_id` on begin at byte
// `at`.
struct Place {
  uint32_t first_id;
  size_t at;
};
using Places = std::vector<Place>;
// The byte at which the node of that id stands; 0 when it is not known.
size_t place_of(const Places& places, uint32_t id);

// A Diag at byte `at` of `text`: line and column, and the line itself with a caret (cut when long, control characters
// shown as '?').
Diag diag_at(std::string_view text, size_t at, std::string_view file, std::string message, std::string expected);

// What stands at byte `at`, for "found ...": the end of the input or line, a name, a character.
std::string found_at(std::string_view text, size_t at);

}  // namespace tgc
