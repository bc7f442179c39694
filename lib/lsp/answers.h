// Writes the answers of the language server, as JSON, and texts in Markdown.
#pragma once
#include <string>
#include <string_view>

#include "lib/lsp/features.h"
#include "lib/lsp/open_document.h"
#include "lib/support/json_writer.h"

namespace tgc {

// A command that the editor offers above each graph or record.
struct LspCommand {
  const char* name;
  const char* title;
  const char* tgc_command;
};
inline constexpr LspCommand kLspCommands[] = {
    {"tgc.run", "run", "run"}, {"tgc.bisect", "bisect", "bisect"}, {"tgc.view", "view", "view"}};

void write_capabilities(JsonWriter& json);
// Writes at most 1000 problems: unreadable lines, and the problems of the sections searched so far.
void write_diagnostics(JsonWriter& json, const OpenDocument& text);
// Writes a byte range of a section's text as a Location.
void write_location(JsonWriter& json, const std::string& uri, const OpenDocument& text, const ReadSection& read,
                    size_t begin, size_t end);
void write_position(JsonWriter& json, TextPosition position);
void write_range(JsonWriter& json, const TextDocument& document, size_t begin, size_t end);
// Writes the nodes, by graph if there are several; for a recording, the records and the names of their graphs.
void write_document_symbols(JsonWriter& json, OpenDocument& text);
// Writes the code lenses of graphs or records.
void write_code_lenses(JsonWriter& json, const OpenDocument& text, const std::string& uri);

// Writes the tokens between bytes `begin` and `end`; none for a recording.
void write_semantic_tokens(JsonWriter& json, OpenDocument& text, size_t begin, size_t end);
// Writes no folds for a recording.
void write_folding_ranges(JsonWriter& json, OpenDocument& text);
// Writes the shapes of nodes between bytes `begin` and `end`; none for a recording.
void write_inlay_hints(JsonWriter& json, OpenDocument& text, size_t begin, size_t end);
void write_completions(JsonWriter& json, const OpenDocument& text, const ReadSection& read,
                       const CompletionList& found);
// Writes the definition and the uses of the name at byte `at`.
void write_highlights(JsonWriter& json, const OpenDocument& text, const ReadSection& read, size_t at);
void write_rename_edits(JsonWriter& json, const std::string& uri, const OpenDocument& text, const ReadSection& read,
                        const std::vector<std::pair<size_t, size_t>>& places, const std::string& name);

// Returns code in Markdown, on one line, between more backticks than `text` has in a row.
std::string code_span(std::string_view text);
// Escapes `text` for use within a line of Markdown. Line breaks become spaces.
std::string escape_markdown(std::string_view text);

}  // namespace tgc
