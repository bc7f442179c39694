// Writes what the language server answers, as JSON of the protocol.
#pragma once
#include <string>
#include <string_view>

#include "lib/lsp/features.h"
#include "lib/lsp/open_document.h"
#include "lib/support/json_writer.h"

namespace tgc {

// A command that the editor offers above each graph.
struct LspCommand {
  const char *name, *title, *word;  // name in the protocol, title of the code lens, command of tgc
};
inline constexpr LspCommand kLspCommands[] = {
    {"tgc.run", "run", "run"}, {"tgc.bisect", "bisect", "bisect"}, {"tgc.view", "view", "view"}};

// Writes what the server can do, for the answer to `initialize`.
void write_capabilities(JsonWriter& json);
void write_diagnostics(JsonWriter& json, const OpenDocument& text);
// Writes the place of the bytes `begin` to `end` of the section `read`.
void write_location(JsonWriter& json, const std::string& uri, const OpenDocument& text, const ReadSection& read,
                    size_t begin, size_t end);
void write_position(JsonWriter& json, TextPosition position);
// Writes the range of these bytes.
void write_range(JsonWriter& json, const Document& document, size_t begin, size_t end);
// Writes the nodes of a text or, for a recording, its records with their stages.
void write_symbols(JsonWriter& json, OpenDocument& text);
// Writes the commands of each graph or record.
void write_lenses(JsonWriter& json, const OpenDocument& text, const std::string& uri);

// Writes the tokens of the bytes `begin` to `end`, as numbers of the protocol; none of a recording, whose lines are too
// long to be colored.
void write_tokens(JsonWriter& json, OpenDocument& text, size_t begin, size_t end);
// Writes the parts that can be folded; none of a recording.
void write_folds(JsonWriter& json, OpenDocument& text);
// Writes the shapes of the nodes that are defined between the bytes `begin` and `end`; none of a recording.
void write_hints(JsonWriter& json, OpenDocument& text, size_t begin, size_t end);
void write_completions(JsonWriter& json, const OpenDocument& text, const ReadSection& read, const Completions& found);
// Writes the definition and the uses of the name at byte `at` of a section.
void write_highlights(JsonWriter& json, const OpenDocument& text, const ReadSection& read, size_t at);
// Writes the edits that give `places` the name `name`.
void write_renaming(JsonWriter& json, const std::string& uri, const OpenDocument& text, const ReadSection& read,
                    const std::vector<std::pair<size_t, size_t>>& places, const std::string& name);

// Texts from files as Markdown. A name may contain characters that make links, images or headings of it.

// Returns `text` as code: between more backticks than any row of backticks in it has.
std::string code_span(std::string_view text);
// Returns `text` with all characters escaped that have a meaning in Markdown or HTML; line breaks become blanks. A
// single word stays as it is.
std::string plain_markdown(std::string_view text);

}  // namespace tgc
