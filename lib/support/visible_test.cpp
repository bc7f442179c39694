#include "lib/support/visible.h"

#include <doctest/doctest.h>

using namespace tgc;

TEST_CASE("visible: escapes control, hidden and bidirectional characters and keeps others") {
  CHECK(visible_text("E_4 ä 漢\t\n") == "E_4 ä 漢\t\n");
  CHECK(visible_text("a\x1b[2Jb\r\x07") == "a\\x1b[2Jb\\x0d\\x07");
  CHECK(visible_text("\x7f\xC2\x9B") == "\\x7f\\u009b");
  CHECK(visible_text("x\u202Ey\u2066\u200B\uFEFF") == "x\\u202ey\\u2066\\u200b\\ufeff");
  CHECK(visible_text("\U000E0041") == "\\U000e0041");
  CHECK(visible_text("a\u115Fb\u3164c\uFE00d\uFE0Fe\uFFA0") == "a\\u115fb\\u3164c\\ufe00d\\ufe0fe\\uffa0");
  CHECK(visible_text("\xFF\xC0\x80\xED\xA0\x80") == "\\xff\\xc0\\x80\\xed\\xa0\\x80");
  CHECK(visible_text("\x1b[31mr\x1b[0m") == "\\x1b[31mr\\x1b[0m");
}

TEST_CASE("visible_in_color: keeps tinygrad's color sequences and escapes all others") {
  CHECK(visible_colored_text("\x1b[31mr\x1b[0m_\x1b[97m4\x1b[0m") == "\x1b[31mr\x1b[0m_\x1b[97m4\x1b[0m");
  CHECK(visible_colored_text("\x1b[8mhidden\x1b[38;5;1m\x1b[3") == "\\x1b[8mhidden\\x1b[38;5;1m\\x1b[3");
  CHECK(visible_colored_text("\x1b[0m\x1b]0;title\x07") == "\x1b[0m\\x1b]0;title\\x07");
}

TEST_CASE("without_workflow_commands: a CI job obeys nothing of a text") {
  CHECK(escape_workflow_commands("a\n::error::x\n  ::set-output name=a::b") ==
        "a\n: :error::x\n  : :set-output name=a::b");
  CHECK(escape_workflow_commands("a ##[error]x ##vso[task.x]") == "a # #[error]x # #vso[task.x]");
  for (std::string blank : {"\u00A0", "\u1680", "\u2003", "\u202F", "\u3000", "\u200B", "\uFEFF", "\r", "\v", "\xFF"})
    CHECK(escape_workflow_commands("a\n" + blank + " ::error::x") == "a\n" + blank + " : :error::x");
  CHECK(escape_workflow_commands("a\u2028::error::x") == "a\u2028: :error::x");
  CHECK(escape_workflow_commands("std::vector, # ## heading") == "std::vector, # ## heading");
}

TEST_CASE("is_one_line: names with line breaks and control characters are no names") {
  CHECK(is_one_line("\x1b[34mE_\x1b[0m4 \u00e4"));
  for (const char* text : {"a\nb", "a\rb", "a\tb", "\x1b]0;x\x07", "\u2028", "\u202e", "\x7f"})
    CHECK_FALSE(is_one_line(text));
}

TEST_CASE("without_controls: data for a program keep their line ends and colors, and JSON stays JSON") {
  CHECK(without_control_chars("a\tb\r\n\x1b[31mr\x1b[0m \u00e9\u202e") == "a\tb\r\n\x1b[31mr\x1b[0m \u00e9\u202e");
  CHECK(without_control_chars("\x1b]0;t\x07\x7f\u009b2J\r") == "\\u001b]0;t\\u0007\\u007f\\u009b2J\\u000d");
}
