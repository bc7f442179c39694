// An open text of an editor. The language server protocol counts characters of a line in UTF-16 code units.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tgc {

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
  // Returns the text with the part from `begin` to `end` replaced.
  std::string replaced(TextPosition begin, TextPosition end, std::string_view by) const;

 private:
  std::string text_;
  std::vector<size_t> lines_;  // the byte at which each line begins
  bool is_ascii_ = true;       // then characters are bytes
};

}  // namespace tgc
