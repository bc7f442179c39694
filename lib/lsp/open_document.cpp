#include "lib/lsp/open_document.h"

#include <algorithm>

namespace tgc {

// Number of sections kept in memory. A text with more, or a recording, is searched while no message waits.
constexpr size_t kMostRead = 32;

OpenDocument::OpenDocument(std::string text, int64_t version) : document_(std::move(text)), version_(version) {
  begin_reading();
}

void OpenDocument::replace_document(TextDocument changed, int64_t version) {
  document_ = std::move(changed), version_ = version;
  begin_reading();
}

void OpenDocument::begin_reading() {
  sections_ = find_sections(document_.text());
  next_section_ = 0;
  problems_.clear(), read_sections_.clear();
  if (!is_recording() && sections_.sections.size() <= kMostRead)
    while (has_idle_work()) read_next_section();
}

const ReadSection& OpenDocument::read_section(size_t index) {
  auto it = std::ranges::find(read_sections_, index, &std::pair<size_t, ReadSection>::first);
  if (it != read_sections_.end()) {
    read_sections_.splice(read_sections_.begin(), read_sections_, it);
    return read_sections_.front().second;
  }
  const GraphSection& s = sections_.sections[index];
  SectionText text(document_.text(), s);
  auto analysis = analyze_section(text.text(), s, sections_.header.producer, sections_.header.level == "tensor");
  read_sections_.push_front({index, {std::move(text), std::move(analysis)}});
  if (read_sections_.size() > kMostRead) read_sections_.pop_back();
  return read_sections_.front().second;
}

std::optional<size_t> OpenDocument::section_at_offset(size_t offset) const {
  for (size_t i = 0; i < sections_.sections.size(); i++)
    if (offset >= sections_.sections[i].begin && offset <= sections_.sections[i].end) return i;
  return std::nullopt;
}

void OpenDocument::read_next_section() {
  const GraphSection& s = sections_.sections[next_section_];
  const std::string_view raw = document_.text().substr(s.begin, s.end - s.begin);
  const size_t key = std::hash<std::string_view>()(raw) * 31 + size_t(s.part);
  auto it = known_problems_.find(key);
  problems_.push_back(it != known_problems_.end() ? it->second : read_section(next_section_).analysis->problems);
  if (sections_.sections.size() > 1) known_problems_[key] = problems_.back();
  next_section_++;
}

std::string OpenDocument::input_file_text(size_t number) const {
  const std::string_view all = document_.text();
  if (!is_recording()) {
    const GraphSection& s = sections_.sections[number];
    return std::string(all.substr(s.begin, s.end - s.begin));
  }
  const RecordSection& r = sections_.records[number];
  return std::string(all.substr(0, sections_.header_end)) + "\n" + std::string(all.substr(r.begin, r.end - r.begin)) +
         "\n";
}

namespace {

int utf16_units(char c) { return (uint8_t(c) & 0xC0) == 0x80 ? 0 : uint8_t(c) >= 0xF0 ? 2 : 1; }

}  // namespace

TextDocument::TextDocument(std::string text) : full_text_(std::move(text)), line_starts_{0} {
  for (size_t at = 0; (at = full_text_.find('\n', at)) != full_text_.npos;) line_starts_.push_back(++at);
  is_ascii_ = std::ranges::all_of(full_text_, [](char c) { return uint8_t(c) < 0x80; });
}

size_t TextDocument::offset(TextPosition position) const {
  if (position.line < 0) return 0;
  if (size_t(position.line) >= line_starts_.size()) return full_text_.size();
  size_t at = line_starts_[size_t(position.line)];
  size_t end = std::min(full_text_.find('\n', at), full_text_.size());
  if (end > at && full_text_[end - 1] == '\r') end--;
  if (position.utf16_column <= 0) return at;
  if (is_ascii_) return at + std::min(size_t(position.utf16_column), end - at);
  for (int64_t units = 0; at < end; at++) {
    units += utf16_units(full_text_[at]);
    if (units > position.utf16_column) break;
  }
  return at;
}

TextPosition TextDocument::position(size_t offset) const {
  offset = std::min(offset, full_text_.size());
  const auto line = std::ranges::upper_bound(line_starts_, offset) - 1;
  return {line - line_starts_.begin(), utf16_length(*line, offset)};
}

int64_t TextDocument::utf16_length(size_t begin, size_t end) const {
  if (is_ascii_) return int64_t(end - begin);
  int64_t out = 0;
  for (size_t at = begin; at < end; at++) out += utf16_units(full_text_[at]);
  return out;
}

std::string TextDocument::text_after_edit(TextPosition begin, TextPosition end, std::string_view by) const {
  const size_t from = offset(begin), to = std::max(from, offset(end));
  return full_text_.substr(0, from).append(by) + full_text_.substr(to);
}

}  // namespace tgc
