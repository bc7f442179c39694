// OpenDocument: a text that is open in the editor, with its sections (graphs) and their problems.
#pragma once
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/lsp/analysis.h"

namespace tgc {

// A position in a text, as the language server protocol counts.
struct TextPosition {
  int64_t line = 0, utf16_column = 0;  // both from 0; `utf16_column` counts UTF-16 code units
  bool operator==(const TextPosition&) const = default;
};

class Document {
 public:
  explicit Document(std::string text);

  std::string_view text() const { return full_text_; }
  // Returns the byte offset of a position; of a position behind the end of its line or of the text, that of this end.
  size_t offset(TextPosition position) const;
  TextPosition position(size_t offset) const;
  // Returns the number of UTF-16 code units of the bytes `begin` to `end`.
  int64_t utf16_length(size_t begin, size_t end) const;
  // Returns the text with the part from `begin` to `end` replaced by `by`.
  std::string replaced_text(TextPosition begin, TextPosition end, std::string_view by) const;

 private:
  std::string full_text_;
  std::vector<size_t> line_starts_;  // the byte at which each line begins
  bool is_ascii_ = true;             // all characters are ASCII, so each is one byte and one UTF-16 code unit
};

// The decoded text of a section, and its analysis.
struct ReadSection {
  SectionText text;
  std::shared_ptr<const Analysis> analysis;
};

class OpenDocument {
 public:
  OpenDocument(std::string text, int64_t version);
  void replace_document(Document changed, int64_t version);

  const Document& document() const { return document_; }
  const Sections& sections() const { return sections_; }
  int64_t version() const { return version_; }
  bool is_recording() const { return sections_.kind == InputKind::Golden; }
  // Returns the number of graphs or, for a recording, records, on which commands can be run.
  size_t num_graphs() const { return is_recording() ? sections_.records.size() : sections_.sections.size(); }

  // Returns the text and analysis of sections().sections[index], which this call makes unless they are cached. The
  // reference is valid until the next call of a function that is not const.
  const ReadSection& section(size_t index);
  std::optional<size_t> section_at(size_t offset) const;

  // Returns true if some sections were not searched for problems yet. read_next_section() searches the next one. A text
  // with few graphs that is no recording is searched as a whole when it is opened or changed.
  bool has_work() const { return next_section_ < sections_.sections.size(); }
  void read_next_section();
  // Returns the problems of the sections that were searched so far, in the order of sections().sections.
  const std::vector<std::vector<Problem>>& problems() const { return problems_; }

  // Returns a text that contains only graph or record number `number` (from 0), as an INPUT of tgc's commands.
  std::string input_spec(size_t number) const;

 private:
  void begin_reading();

  Document document_;
  Sections sections_;
  int64_t version_;
  size_t next_section_ = 0;
  std::vector<std::vector<Problem>> problems_;
  // The problems of sections by a hash of their text, so that only changed sections are searched again after an edit.
  std::unordered_map<size_t, std::vector<Problem>> known_problems_;
  std::list<std::pair<size_t, ReadSection>> read_sections_;  // the sections that were used last, with their indices
};

}  // namespace tgc
