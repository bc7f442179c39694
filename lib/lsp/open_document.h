// A text that is open in the editor: its sections, and what was found in them.
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

// An open text of an editor. The language server protocol counts characters of a line in UTF-16 code units.
struct TextPosition {
  int64_t line = 0, character = 0;  // both from 0; `character` counts UTF-16 code units
  bool operator==(const TextPosition&) const = default;
};

class Document {
 public:
  explicit Document(std::string text);

  std::string_view text() const { return text_; }
  // Returns the byte at a position. A position behind the end of its line, or of the text, counts as that end.
  size_t offset(TextPosition position) const;
  TextPosition position(size_t offset) const;
  // Returns the number of UTF-16 code units of the bytes `begin` to `end`.
  int64_t units(size_t begin, size_t end) const;
  // Returns the text with the part from `begin` to `end` replaced.
  std::string replaced(TextPosition begin, TextPosition end, std::string_view by) const;

 private:
  std::string text_;
  std::vector<size_t> lines_;  // the byte at which each line begins
  bool is_ascii_ = true;       // then characters are bytes
};

// A section that was read.
struct ReadSection {
  SectionText text;
  std::shared_ptr<const Analysis> analysis;
};

class OpenDocument {
 public:
  OpenDocument(std::string text, int64_t version);
  void change(Document changed, int64_t version);

  const Document& document() const { return document_; }
  const Sections& sections() const { return sections_; }
  int64_t version() const { return version_; }
  bool is_recording() const { return sections_.kind == InputKind::Golden; }
  // Returns the number of graphs, or of records, that commands can take.
  size_t graphs() const { return is_recording() ? sections_.records.size() : sections_.list.size(); }

  // Returns a section of the list. Valid until the next call of a function that is not const.
  const ReadSection& section(size_t index);
  std::optional<size_t> section_at(size_t offset) const;

  // The sections of a recording, or of a text of many graphs, are searched for problems one by one, by work().
  bool has_work() const { return next_ < sections_.list.size(); }
  void work();
  // Returns the problems of each section that was searched so far.
  const std::vector<std::vector<Problem>>& problems() const { return problems_; }

  // Returns a text with only the graph or record `number`, which every command of tgc can read.
  std::string input(size_t number) const;

 private:
  void begin();

  Document document_;
  Sections sections_;
  int64_t version_;
  size_t next_ = 0;
  std::vector<std::vector<Problem>> problems_;
  // the problems of sections by a hash of their text, so that an edit of one of many sections is fast
  std::unordered_map<size_t, std::vector<Problem>> known_;
  std::list<std::pair<size_t, ReadSection>> read_;  // the sections that were read last, by index
};

}  // namespace tgc
