// Text of an input, shown so that a reader sees what is in it: no name moves the cursor, hides what follows or turns
// the order of letters round.
#pragma once
#include <string>
#include <string_view>

namespace tgc {

// `text` with control characters, characters without a width, those that change the direction of letters, and bytes
// that are not UTF-8 as Python's escapes (\x1b, \u202e). The rest, line ends and tabs too, stays.
std::string visible(std::string_view text);

// The same, but the colours of tinygrad's names (\x1b[31m to \x1b[37m, \x1b[91m to \x1b[97m, \x1b[0m) stay. For what
// goes to a terminal.
std::string visible_in_color(std::string_view text);

}  // namespace tgc
