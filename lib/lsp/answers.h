// Writes what the language server answers, as JSON of the protocol.
#pragma once
#include <string>
#include <string_view>

#include "lib/lsp/open_document.h"
#include "lib/support/json_writer.h"

namespace tgc {

// A command that the editor offers above each graph.
struct LspCommand {
  const char *name, *title, *word;  // name in the protocol, title of the code lens, command of tgc
};
inline constexpr LspCommand kLspCommands[] = {
    {"tgc.run", "run", "run"}, {"tgc.bisect", "bisect", "bisect"}, {"tgc.view", "view", "view"}};

void write_diagnostics(JsonWriter& json, const OpenDocument& text);
// Writes the place of the bytes `begin` to `end` of the section `read`.
void write_location(JsonWriter& json, const std::string& uri, const OpenDocument& text, const ReadSection& read,
                    size_t begin, size_t end);
// Writes the nodes of a text or, for a recording, its records with their stages.
void write_symbols(JsonWriter& json, OpenDocument& text);
// Writes the commands of each graph or record.
void write_lenses(JsonWriter& json, const OpenDocument& text, const std::string& uri);

// Texts from files as Markdown. A name may contain characters that make links, images or headings of it.

// Returns `text` as code: between more backticks than any row of backticks in it has.
std::string code_span(std::string_view text);
// Returns `text` with all characters escaped that have a meaning in Markdown or HTML; line breaks become blanks. A
// single word stays as it is.
std::string plain_markdown(std::string_view text);

}  // namespace tgc
