// Positions in an input text, for messages.
#pragma once
#include <string>
#include <string_view>

#include "lib/support/result.h"

namespace tgc {

// A Diag at byte `at` of `text`: line and column, and the line itself with a caret (cut when long, control characters shown as '?').
Diag diag_at(std::string_view text, size_t at, std::string_view file, std::string message, std::string expected);

// What stands at byte `at`, for "found ...": the end of the input or line, a name, a character.
std::string found_at(std::string_view text, size_t at);

}  // namespace tgc
