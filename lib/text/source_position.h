// Positions in an input text, for messages.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/result.h"

namespace tgc {

// A node position in the text: nodes with ids from `first_id` on (up to the next Place) begin at byte `at`.
struct Place {
  uint32_t first_id;
  size_t at;
};
using Places = std::vector<Place>;
// Returns the byte where the node with that id begins; 0 if unknown.
size_t place_of(const Places& places, uint32_t id);

// Returns a Diag at byte `at` of `text`: line, column, and the line itself with a caret (truncated if long; control
// characters shown as '?').
Diag diag_at(std::string_view text, size_t at, std::string_view file, std::string message, std::string expected);

// Describes the text at byte `at`, for "found ...": a name, a character, the end of the line or of the input.
std::string found_at(std::string_view text, size_t at);

}  // namespace tgc
