// A text that is open in the editor: its sections, and what was found in them.
#pragma once
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/lsp/analysis.h"
#include "lib/lsp/document.h"

namespace tgc {

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
