// Writes the answers of the language server, as JSON of the protocol.
#pragma once
#include <string>
#include <string_view>

#include "lib/lsp/features.h"
#include "lib/lsp/open_document.h"
#include "lib/support/json_writer.h"

namespace tgc {

// A command that the editor offers above each graph or, in a recording, above each record.
struct LspCommand {
  const char* name;         // the command's name in the protocol
  const char* title;        // the text that the editor shows for the command (the title of the code lens)
  const char* tgc_command;  // the name of tgc's command
};
inline constexpr LspCommand kLspCommands[] = {
    {"tgc.run", "run", "run"}, {"tgc.bisect", "bisect", "bisect"}, {"tgc.view", "view", "view"}};

// Writes the capabilities of the server, for the answer to `initialize`.
void write_capabilities(JsonWriter& json);
// Writes the errors of unreadable lines, and the problems of the sections that were searched so far, as Diagnostics.
// Writes at most 1000 of them.
void write_diagnostics(JsonWriter& json, const OpenDocument& text);
// Writes the bytes `begin` to `end` of the section `read` as a Location: the document and the range in it.
void write_location(JsonWriter& json, const std::string& uri, const OpenDocument& text, const ReadSection& read,
                    size_t begin, size_t end);
void write_position(JsonWriter& json, TextPosition position);
// Writes the bytes `begin` to `end` of the document as a Range.
void write_range(JsonWriter& json, const Document& document, size_t begin, size_t end);
// Writes the outline of a text: its nodes or, for a recording, its records with their stages.
void write_symbols(JsonWriter& json, OpenDocument& text);
// Writes the commands that the editor offers above each graph or record (code lenses).
void write_lenses(JsonWriter& json, const OpenDocument& text, const std::string& uri);

// Writes the tokens between the bytes `begin` and `end` of the document in the number format of the protocol. Writes
// none for a recording, whose lines are too long to be colored.
void write_tokens(JsonWriter& json, OpenDocument& text, size_t begin, size_t end);
// Writes the parts of a text that can be folded; none for a recording.
void write_folds(JsonWriter& json, OpenDocument& text);
// Writes the shapes of the nodes that are defined between the bytes `begin` and `end` of the document; none for a
// recording.
void write_hints(JsonWriter& json, OpenDocument& text, size_t begin, size_t end);
void write_completions(JsonWriter& json, const OpenDocument& text, const ReadSection& read, const Completions& found);
// Writes the definition and the uses of the name at byte `at` of a section.
void write_highlights(JsonWriter& json, const OpenDocument& text, const ReadSection& read, size_t at);
// Writes the edits that give `places` the name `name`.
void write_renaming(JsonWriter& json, const std::string& uri, const OpenDocument& text, const ReadSection& read,
                    const std::vector<std::pair<size_t, size_t>>& places, const std::string& name);

// The next two functions escape a text of a document for Markdown, because its characters might make links, images or
// headings. code_span() returns `text` as code, between more backticks than `text` has in a row.
std::string code_span(std::string_view text);
// plain_markdown() returns `text` with the characters escaped that can have a meaning in a line of Markdown or HTML,
// and with spaces in place of line breaks. A single word is returned unchanged.
std::string plain_markdown(std::string_view text);

}  // namespace tgc
