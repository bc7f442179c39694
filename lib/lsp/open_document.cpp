#include "lib/lsp/open_document.h"

#include <algorithm>

namespace tgc {

constexpr size_t kMostRead = 32;  // sections that are kept, and that are searched for problems at once

OpenDocument::OpenDocument(std::string text, int64_t version) : document_(std::move(text)), version_(version) {
  begin();
}

void OpenDocument::change(Document changed, int64_t version) {
  document_ = std::move(changed), version_ = version;
  begin();
}

void OpenDocument::begin() {
  sections_ = find_sections(document_.text());
  next_ = 0;
  problems_.clear(), read_.clear();
  if (!is_recording() && sections_.list.size() <= kMostRead)
    while (has_work()) work();
}

const ReadSection& OpenDocument::section(size_t index) {
  auto it = std::ranges::find(read_, index, &std::pair<size_t, ReadSection>::first);
  if (it != read_.end()) {
    read_.splice(read_.begin(), read_, it);
    return read_.front().second;
  }
  const Section& s = sections_.list[index];
  SectionText text(document_.text(), s);
  auto analysis = analyze(text.text(), s, sections_.header.producer, sections_.header.level == "tensor");
  read_.push_front({index, {std::move(text), std::move(analysis)}});
  if (read_.size() > kMostRead) read_.pop_back();
  return read_.front().second;
}

std::optional<size_t> OpenDocument::section_at(size_t offset) const {
  for (size_t i = 0; i < sections_.list.size(); i++)
    if (offset >= sections_.list[i].begin && offset <= sections_.list[i].end) return i;
  return std::nullopt;
}

void OpenDocument::work() {
  const Section& s = sections_.list[next_];
  const std::string_view raw = document_.text().substr(s.begin, s.end - s.begin);
  const size_t key = std::hash<std::string_view>()(raw) * 31 + size_t(s.part);
  auto it = known_.find(key);
  problems_.push_back(it != known_.end() ? it->second : section(next_).analysis->problems);
  if (sections_.list.size() > 1) known_[key] = problems_.back();
  next_++;
}

std::string OpenDocument::input(size_t number) const {
  const std::string_view all = document_.text();
  if (!is_recording()) {
    const Section& s = sections_.list[number];
    return std::string(all.substr(s.begin, s.end - s.begin));
  }
  const RecordSection& r = sections_.records[number];
  return std::string(all.substr(0, sections_.header_end)) + "\n" + std::string(all.substr(r.begin, r.end - r.begin)) +
         "\n";
}

}  // namespace tgc
