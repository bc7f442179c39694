// Positions in an input text, for messages.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/result.h"
#include "lib/uop/graph.h"

namespace tgc {

// The nodes with ids from `first_id` to below the first_id of the next Place begin at the same byte of the text.
struct Place {
  uint32_t first_id;
  size_t offset;  // the byte, from 0
};
using Places = std::vector<Place>;
// Returns the byte where the node with this id begins; 0 if its position is unknown.
size_t place_of(const Places& places, uint32_t id);

// A node, and the byte at which the statement, line of a listing, JSON object or UOp(...) that makes it begins.
struct NodeAt {
  size_t offset;
  UOp node;
};

// Returns an error for byte `at` of `text`, with line, column, and the source line with a caret. A long line is
// truncated. Control characters in the line are shown as '?'.
Diag diag_at(std::string_view text, size_t at, std::string_view file, std::string message, std::string expected);

// Describes the text at byte `at` for a message ("found ..."), such as a word, a character, or the end of the line.
std::string found_at(std::string_view text, size_t at);

}  // namespace tgc
