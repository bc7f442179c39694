// Positions in an input text, for messages.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/result.h"
#include "lib/uop/graph.h"

namespace tgc {

// The nodes with ids from `first_id` to below that of the next NodePlace begin at the same byte.
struct NodePlace {
  uint32_t first_id;
  size_t offset;  // in bytes, from 0
};
using NodePlaces = std::vector<NodePlace>;
// Returns 0 if no place has nodes up to `id`.
size_t offset_of_node(const NodePlaces& places, uint32_t id);

// `offset` is where the text of the node begins: a statement, a line of a listing or tree, a JSON object or a UOp(...).
struct NodePosition {
  size_t offset;
  UOp node;
};

// The error has line, column, and the source line, shortened, with a caret.
Diag diag_at(std::string_view text, size_t at, std::string_view file, std::string message, std::string expected);

// Describes what is at byte `at`, such as a word, a character, or the end of the line, for a message "found ...".
std::string found_text_at(std::string_view text, size_t at);

}  // namespace tgc
