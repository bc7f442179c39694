#include "lib/lsp/links.h"

#include <algorithm>
#include <charconv>
#include <map>

namespace tgc {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_name(char c) { return is_name_start(c) || is_digit(c); }

size_t name_end(std::string_view text, size_t at) {
  while (at < text.size() && is_name(text[at])) at++;
  return at;
}

size_t end_of_line(std::string_view text, size_t at) { return std::min(text.find('\n', at), text.size()); }

// Returns the end of the Python string that begins with the quote at `at`; the end of its line if it is not closed.
size_t string_end(std::string_view text, size_t at) {
  const char quote = text[at++];
  while (at < text.size() && text[at] != quote && text[at] != '\n') at += text[at] == '\\' ? 2 : 1;
  return std::min(at + 1, text.size());
}

size_t without_blanks(std::string_view text, size_t begin, size_t end) {
  while (end > begin && (text[end - 1] == ' ' || text[end - 1] == '\r' || text[end - 1] == '\n')) end--;
  return end;
}

// Calls on_name(begin, end) for each name of a Python text outside strings and comments that no '.' precedes.
template <class OnName>
void for_each_name(std::string_view text, size_t begin, size_t end, OnName&& on_name) {
  for (size_t at = begin; at < end;) {
    const char c = text[at];
    if (c == '#') at = end_of_line(text, at);
    else if (c == '\'' || c == '"') at = string_end(text, at);
    else if (is_name(c)) {
      const size_t stop = name_end(text, at);
      const bool is_attribute = at > begin && text[at - 1] == '.';
      if (is_name_start(c) && !is_attribute) on_name(at, stop);
      at = stop;
    } else at++;
  }
}

// Statements: "c12 = ..." and functions: "def k0():".
class Statements {
 public:
  Statements(std::string_view text, Links& out) : text_(text), out_(out), scopes_(1) {}

  void run() {
    for (size_t at = 0, end; at < text_.size(); at = end + 1) {
      end = end_of_line(text_, at);
      line(at, end);
    }
  }

 private:
  struct Scope {
    size_t function = 0;  // its definition; of the outermost scope, unused
    std::map<std::string_view, size_t> names = {};
  };

  void line(size_t at, size_t end) {
    while (at < end && text_[at] == ' ') at++;
    const size_t stop = at < end && is_name_start(text_[at]) ? name_end(text_, at) : at;
    const std::string_view word = text_.substr(at, stop - at);
    if (word == "def") {
      const size_t name = std::min(text_.find_first_not_of(' ', stop), end), name_stop = name_end(text_, name);
      scopes_.push_back({define(name, name_stop, at, end)});
      return;
    }
    size_t equals = stop;
    while (equals < end && text_[equals] == ' ') equals++;
    const bool is_assignment = !word.empty() && equals < end && text_[equals] == '=' &&
                               (equals + 1 == text_.size() || text_[equals + 1] != '=');
    uses(is_assignment ? equals + 1 : at, end);
    if (is_assignment) scopes_.back().names[word] = define(at, stop, at, end);
    if (word != "return" || scopes_.size() == 1) return;
    const size_t function = scopes_.back().function;
    scopes_.pop_back();
    const Definition& d = out_.definitions[function];
    scopes_.back().names[text_.substr(d.name_begin, d.name_end - d.name_begin)] = function;
  }

  size_t define(size_t name, size_t name_end, size_t begin, size_t end) {
    out_.definitions.push_back({std::string(text_.substr(name, name_end - name)), name, name_end, begin,
                                without_blanks(text_, begin, end)});
    return out_.definitions.size() - 1;
  }

  void uses(size_t begin, size_t end) {
    for_each_name(text_, begin, end, [&](size_t at, size_t stop) {
      const auto& names = scopes_.back().names;
      if (auto it = names.find(text_.substr(at, stop - at)); it != names.end())
        out_.links.push_back({at, stop, it->second});
    });
  }

  std::string_view text_;
  Links& out_;
  std::vector<Scope> scopes_;
};

// A repr: "x5:=UOp(...)" defines x5.
void find_in_repr(std::string_view text, Links& out) {
  std::map<std::string_view, size_t> names;
  for_each_name(text, 0, text.size(), [&](size_t at, size_t stop) {
    const std::string_view name = text.substr(at, stop - at);
    if (text.substr(stop, 2) == ":=") {
      names[name] = out.definitions.size();
      const size_t end = end_of_line(text, at);
      out.definitions.push_back({std::string(name), at, stop, stop + 2, without_blanks(text, at, end)});
    } else if (auto it = names.find(name); it != names.end()) {
      out.links.push_back({at, stop, it->second});
    }
  });
}

// Calls on_number(begin, end, value) for each number of a list in brackets that begins at `at`. Returns its end.
template <class OnNumber>
size_t for_each_number(std::string_view text, size_t at, size_t end, OnNumber&& on_number) {
  while (at < end && text[at] != ']') {
    if (text[at] == '\'' || text[at] == '"') at = string_end(text, at);
    else if (!is_digit(text[at])) at++;
    else {
      size_t value = 0;
      auto [stop, error] = std::from_chars(text.data() + at, text.data() + end, value);
      const size_t begin = std::exchange(at, size_t(stop - text.data()));
      if (error == std::errc()) on_number(begin, at, value);
    }
  }
  return at;
}

// Uses of nodes by position. They may precede the definition, so they are resolved at the end.
void resolve(Links& out) {
  std::erase_if(out.links, [&](const Link& link) { return link.target >= out.definitions.size(); });
}

// A listing: "  12 Ops.ADD : RANGES DTYPE [3, '4', 7] ARG". Constants are shown by value, in quotes.
void find_in_listing(std::string_view text, Links& out) {
  for (size_t begin = 0, end; begin < text.size(); begin = end + 1) {
    end = end_of_line(text, begin);
    const size_t number = std::min(text.find_first_not_of(' ', begin), end);
    size_t stop = number;
    while (stop < end && is_digit(text[stop])) stop++;
    if (stop == number || text.substr(stop, 5) != " Ops.") continue;
    out.definitions.push_back({std::string(text.substr(number, stop - number)), number, stop, number,
                               without_blanks(text, number, end)});
    size_t open = stop;
    while (open < end && (text[open] != '[' || text[open - 1] == '\x1b')) open++;  // "\x1b[" begins a color
    for_each_number(text, std::min(open + 1, end), end,
                    [&](size_t b, size_t e, size_t n) { out.links.push_back({b, e, n}); });
  }
  resolve(out);
}

// JSON: an object that begins with "op" is a node; "src":[0,2] and {"uop":3} name nodes.
class JsonLinks {
 public:
  JsonLinks(std::string_view text, Links& out) : text_(text), out_(out) {}

  void run() {
    for (size_t at = 0; at < text_.size();) {
      if (text_[at] == '{') open_.push_back({at, kNone});
      if (text_[at] == '}' && !open_.empty()) {
        if (open_.back().node != kNone) out_.definitions[open_.back().node].end = at + 1;
        open_.pop_back();
      }
      at = text_[at] == '"' ? string(at) : at + 1;
    }
    resolve(out_);
  }

 private:
  static constexpr size_t kNone = SIZE_MAX;
  struct Object {
    size_t begin, node;  // where it begins, and the index of its definition
  };

  // Reads the string at `at` and, if it is the key of a list of nodes, this list. Returns the end.
  size_t string(size_t at) {
    const size_t end = string_end(text_, at);
    if (end >= text_.size() || text_[end] != ':') return end;
    const std::string_view key = text_.substr(at, end - at), value = text_.substr(end + 1, 1);
    auto add = [&](size_t b, size_t e, size_t n) { out_.links.push_back({b, e, n}); };
    if ((key == "\"src\"" || key == "\"list\"") && value == "[")
      return for_each_number(text_, end + 2, text_.size(), add);
    if (key == "\"op\"" && value == "\"" && !open_.empty() && open_.back().node == kNone) {
      const size_t value_end = string_end(text_, end + 1);
      open_.back().node = out_.definitions.size();
      out_.definitions.push_back({std::to_string(out_.definitions.size()), end + 2, std::max(value_end, end + 3) - 1,
                                  open_.back().begin, value_end});
    }
    size_t digits = end + 1;
    while (digits < text_.size() && is_digit(text_[digits])) digits++;
    if (key == "\"uop\"") for_each_number(text_, end + 1, digits, add);
    return end;
  }

  std::string_view text_;
  Links& out_;
  std::vector<Object> open_;  // the objects around the current place
};

}  // namespace

std::optional<size_t> Links::target_at(size_t at) const {
  auto link = std::ranges::upper_bound(links, at, {}, &Link::begin);
  if (link != links.begin() && at <= (link - 1)->end) return (link - 1)->target;
  for (size_t i = 0; i < definitions.size() && definitions[i].begin <= at; i++)
    if (at >= definitions[i].name_begin && at <= definitions[i].name_end) return i;
  return std::nullopt;
}

std::optional<size_t> Links::definition_around(size_t at) const {
  std::optional<size_t> out;
  for (size_t i = 0; i < definitions.size() && definitions[i].begin <= at; i++)
    if (at <= definitions[i].end) out = i;
  return out;
}

Links find_links(InputKind kind, std::string_view text) {
  Links out;
  switch (kind) {
    case InputKind::Repr: find_in_repr(text, out); break;
    case InputKind::Uops: find_in_listing(text, out); break;
    case InputKind::Json:
    case InputKind::Repro: JsonLinks(text, out).run(); break;
    default: Statements(text, out).run();
  }
  return out;
}

}  // namespace tgc
