// Positions in an input text, for messages.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/result.h"

namespace tgc {

// The nodes from id `first_id` up to, but not including, the next Place's first_id begin at byte `at` of the text.
struct Place {
  uint32_t first_id;
  size_t at;
};
using Places = std::vector<Place>;
// Returns the byte where the node with this id begins; 0 if its position is unknown.
size_t place_of(const Places& places, uint32_t id);

// Returns a Diag for byte `at` of `text`: line, column, and the line itself with a caret. A long line is truncated, and
// its control characters are shown as '?'.
Diag diag_at(std::string_view text, size_t at, std::string_view file, std::string message, std::string expected);

// Describes what stands at byte `at`, for "found ...": a name, a character, or the end of the line or of the input.
std::string found_at(std::string_view text, size_t at);

}  // namespace tgc
