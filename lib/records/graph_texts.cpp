#include "lib/records/graph_texts.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "lib/records/svod_tree.h"

namespace tgc {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Returns 12 for "  12 Ops.ADD : ..."; nullopt for other lines.
std::optional<size_t> number_in_listing(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  size_t number = 0;
  auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
  const bool is_listed = error == std::errc() && line.substr(size_t(end - line.data())).starts_with(" Ops.");
  return is_listed ? std::optional(number) : std::nullopt;
}

// True for a line that begins like "c12 = ", "ast = " or "def k0():".
bool is_pyrender_line(std::string_view line) {
  if (line.starts_with("ast = ")) return true;
  const std::string_view prefix = line.starts_with("def k") ? "def k" : "c";
  if (!line.starts_with(prefix)) return false;
  line.remove_prefix(prefix.size());
  const size_t digits = std::min(line.find_first_not_of("0123456789"), line.size());
  return digits > 0 && line.substr(digits).starts_with(prefix == "c" ? " = " : "():");
}

bool is_python_line(std::string_view line) {
  if (line.empty() || line[0] == '#' || line[0] == ' ' || line[0] == '\t' || line[0] == '\r') return true;
  auto is_name = [](char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const size_t name = size_t(std::ranges::find_if_not(line, is_name) - line.begin());
  if (line.starts_with("def ")) return true;
  line.remove_prefix(name);
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  return name > 0 && line.starts_with('=') && !line.starts_with("==");
}

bool is_blank_or_comment(std::string_view line) {
  const size_t at = line.find_first_not_of(" \t\r");
  return at == line.npos || line[at] == '#';
}

bool is_fence(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  return line.starts_with("```") || line.starts_with("~~~");
}

// Returns the length of the progress bar at the beginning of `line`, which a program prints without a line end; 0
// without one.
size_t progress_bar_length(std::string_view line) {
  for (std::string_view rate : {"it/s]", "s/it]"})
    if (size_t at = line.rfind(rate); at != line.npos) return at + rate.size();
  return 0;
}

class GraphTextFinder {
 public:
  explicit GraphTextFinder(std::string_view text) : text_(text) {
    for (size_t at = 0; at < text.size(); at = lines_.back().end + 1) {
      const size_t end = std::min(text.find('\n', at), text.size());
      lines_.push_back({at + progress_bar_length(text.substr(at, end - at)), end});
    }
  }

  FoundGraphTexts find() {
    const bool has_fences = std::ranges::any_of(lines_, [&](const Line& line) { return is_fence(text_of_line(line)); });
    if (has_fences) find_in_fences();
    else find_in_lines(0, lines_.size());
    auto& graph_texts = out_.graph_texts;
    const bool is_all_python = graph_texts.size() == 1 && graph_texts[0].kind == InputKind::Pyrender && is_all_python_;
    if (!has_fences && graph_texts.size() == 1 && (!out_.has_other_lines || is_all_python)) graph_texts.clear();
    return std::move(out_);
  }

 private:
  struct Line {
    size_t begin, end;
  };
  std::string_view text_of_line(const Line& line) const { return text_.substr(line.begin, line.end - line.begin); }
  std::string_view line(size_t i) const { return text_of_line(lines_[i]); }

  void find_in_fences() {
    out_.has_other_lines = true;
    for (size_t i = 0; i < lines_.size(); i++) {
      if (!is_fence(line(i))) continue;
      const size_t first = i + 1;
      for (i = first; i < lines_.size() && !is_fence(line(i));) i++;
      if (first < i && line(first).starts_with('{')) add_text(InputKind::Json, first, i);
      else find_in_lines(first, i);
    }
  }

  void find_in_lines(size_t first, size_t end) {
    for (size_t i = first; i < end;) {
      size_t next = i;
      std::optional<InputKind> kind;
      if (line(i).starts_with("UOp(Ops.")) kind = InputKind::Repr, next = end_of_repr(i, end);
      else if (number_in_listing(line(i))) kind = InputKind::Uops, next = end_of_listing(i, end);
      else if (is_pyrender_line(line(i))) kind = InputKind::Pyrender, next = end_of_pyrender(i, end);
      else if (is_start_of_svod_tree(line(i))) kind = InputKind::Repr, next = end_of_tree(i, end);
      if (next == i) {
        if (!is_blank_or_comment(line(i))) out_.has_other_lines = true, is_all_python_ &= is_python_line(line(i));
        i++;
        continue;
      }
      size_t begin = i;  // the graph with the header and other comments above it
      while (begin > first && line(begin - 1).starts_with('#') &&
             (out_.graph_texts.empty() || is_after_last_text(begin - 1)))
        begin--;
      add_text(*kind, begin, next);
      i = next;
    }
  }

  bool is_after_last_text(size_t i) const { return lines_[i].begin >= out_.graph_texts.back().end; }
  void add_text(InputKind kind, size_t first, size_t end) {
    out_.graph_texts.push_back({kind, lines_[first].begin, std::min(lines_[end - 1].end + 1, text_.size())});
  }

  // Each end_of_...() returns the index of the line after the graph that begins in line `i`; `i` if none begins there.

  size_t end_of_repr(size_t i, size_t end) const {
    int depth = 0;
    char quote = 0;
    for (; i < end; i++) {
      const std::string_view s = line(i);
      for (size_t at = 0; at < s.size(); at++) {
        if (quote && s[at] == '\\') at++;
        else if (quote) quote = s[at] == quote ? 0 : quote;
        else if (s[at] == '\'' || s[at] == '"') quote = s[at];
        else depth += s[at] == '(' ? 1 : s[at] == ')' ? -1 : 0;
      }
      quote = 0;  // strings end on their line, so a tag may contain a single quote
      if (depth <= 0) return i + 1;
    }
    return end;
  }

  // A line without a number continues the arg of the line above it, if numbered lines follow.
  size_t end_of_listing(size_t i, size_t end) const {
    size_t number = *number_in_listing(line(i)), last = i;
    for (size_t k = i + 1; k < end; k++) {
      auto next = number_in_listing(line(k));
      if (next && *next != number + 1) break;
      if (next) last = k, number++;
    }
    return last + 1;
  }

  size_t end_of_pyrender(size_t i, size_t end) {
    const size_t begin = i;
    if (begin < no_pyrender_before_) return begin;
    for (; i < end; i++) {
      if (line(i).starts_with("ast = ")) {
        while (i + 1 < end && line(i + 1).starts_with("# ast")) i++;  // the comment states facts about the last node
        return i + 1;
      }
      if (!is_pyrender_line(line(i)) && !is_blank_or_comment(line(i)) && !line(i).starts_with(' ')) break;
    }
    no_pyrender_before_ = i;
    return begin;
  }

  size_t end_of_tree(size_t i, size_t end) const {
    auto is_branch = [](std::string_view s) {
      for (std::string_view branch : {"├── ", "└── ", "│   ", "    "})
        if (s.starts_with(branch)) return s.find('[') != s.npos;
      return false;
    };
    for (i++; i < end && is_branch(line(i));) i++;
    return i;
  }

  std::string_view text_;
  std::vector<Line> lines_;
  FoundGraphTexts out_;
  // end_of_pyrender() returns at once for lines above this one: an earlier search up to here found no end of a text
  size_t no_pyrender_before_ = 0;
  bool is_all_python_ = true;
};

}  // namespace

std::string GraphText::padded_text(std::string_view text) const {
  std::string out(size_t(std::count(text.begin(), text.begin() + ptrdiff_t(begin), '\n')), '\n');
  return out.append(text.substr(begin, end - begin));
}

FoundGraphTexts find_graph_texts(std::string_view text) { return GraphTextFinder(text).find(); }

}  // namespace tgc
