// Escapes untrusted text for display, so that names in an input cannot move the cursor, or hide or reverse text.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace tgc {

// Returns true for a code point without a visible shape, such as a control or zero-width character. Blanks, tabs and
// '\n' are not hidden.
bool is_hidden(uint32_t code);

// Replaces hidden characters, and bytes that are not UTF-8, by Python's escapes (\x1b, \u202e).
std::string visible_text(std::string_view text);

// Like visible_text(), for a terminal: keeps the colors of tinygrad's names (\x1b[30m to 37m, \x1b[90m to 97m,
// \x1b[0m).
std::string visible_colored_text(std::string_view text);

// Returns `text` without the commands that CI services execute when a job prints them. "::" at the beginning of a line
// or after its leading blanks becomes ": :". "##" before "[", "vso[" or "teamcity[" becomes "# #".
std::string escape_workflow_commands(std::string_view text);

// Returns `text`, which another program reads but a terminal may show: replaces control characters by escapes that are
// also valid in JSON, except line ends, tabs and tinygrad's colors.
std::string without_control_chars(std::string_view text);

// Returns true if `text` can be a name or an id: valid UTF-8 without line ends, tabs and hidden characters, except
// tinygrad's colors.
bool is_one_line(std::string_view text);

}  // namespace tgc
