// TextDocument: a text with positions. OpenDocument: a text that is open in the editor, with its sections.
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

struct TextPosition {
  int64_t line = 0, utf16_column = 0;  // both from 0; `utf16_column` counts UTF-16 code units
  bool operator==(const TextPosition&) const = default;
};

class TextDocument {
 public:
  explicit TextDocument(std::string text);

  std::string_view text() const { return full_text_; }
  // A position behind the end of its line, or of the text, means this end.
  size_t offset(TextPosition position) const;
  TextPosition position(size_t offset) const;
  int64_t utf16_length(size_t begin, size_t end) const;
  std::string text_after_edit(TextPosition begin, TextPosition end, std::string_view by) const;

 private:
  std::string full_text_;
  std::vector<size_t> line_starts_;
  bool is_ascii_ = true;             // each character is one byte and one UTF-16 code unit
};

struct ReadSection {
  SectionText text;
  std::shared_ptr<const SectionAnalysis> analysis;
};

class OpenDocument {
 public:
  OpenDocument(std::string text, int64_t version);
  void replace_document(TextDocument changed, int64_t version);

  const TextDocument& document() const { return document_; }
  const DocumentSections& sections() const { return sections_; }
  int64_t version() const { return version_; }
  bool is_recording() const { return sections_.kind == InputKind::Golden; }
  // Returns the number of graphs or, for a recording, records.
  size_t num_graphs() const { return is_recording() ? sections_.records.size() : sections_.sections.size(); }

  // The reference is valid until the next call of a function that is not const.
  const ReadSection& read_section(size_t index);
  std::optional<size_t> section_at_offset(size_t offset) const;

  // Returns true if read_next_section() has a section to search for problems.
  bool has_idle_work() const { return next_section_ < sections_.sections.size(); }
  void read_next_section();
  // Returns the problems of the sections searched so far.
  const std::vector<std::vector<TextProblem>>& problems_by_section() const { return problems_; }

  // Returns the text of an INPUT file with graph or record number `number`, from 0.
  std::string input_file_text(size_t number) const;

 private:
  void begin_reading();

  TextDocument document_;
  DocumentSections sections_;
  int64_t version_;
  size_t next_section_ = 0;
  std::vector<std::vector<TextProblem>> problems_;
  // By a hash of the section's text and part. If there are several sections, an edit does not search unchanged ones
  // again.
  std::unordered_map<size_t, std::vector<TextProblem>> known_problems_;
  std::list<std::pair<size_t, ReadSection>> read_sections_;
};

}  // namespace tgc
