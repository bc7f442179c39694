// Texts from files as Markdown. A name may contain characters that make links, images or headings of it.
#pragma once
#include <string>
#include <string_view>

namespace tgc {

// Returns `text` as code: between more backticks than any row of backticks in it has.
std::string code_span(std::string_view text);
// Returns `text` with all characters escaped that have a meaning in Markdown or HTML; line breaks become blanks. A
// single word stays as it is.
std::string plain_markdown(std::string_view text);

}  // namespace tgc
