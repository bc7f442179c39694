// Formats a GraphDiff as text and as JSON.
#include <algorithm>
#include <array>

#include "lib/diff/graph_diff.h"
#include "lib/support/counted.h"
#include "lib/support/json_writer.h"
#include "lib/support/lines.h"

namespace tgc {
namespace {

constexpr size_t kMaxWithLines = 8;
constexpr size_t kMaxWidth = 240;

std::string_view kind_name(NodeChange::Kind kind) {
  switch (kind) {
    case NodeChange::Kind::Changed: return "changed";
    case NodeChange::Kind::Added: return "added";
    case NodeChange::Kind::Removed: return "removed";
  }
  return "";
}

std::string_view op_of_line(std::string_view line) {
  size_t at = line.find(" = ");
  if (at == line.npos) return line;
  line.remove_prefix(at + 3);
  return line.substr(0, line.find(' '));
}

std::string first_number(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_of("0123456789"), text.size()));
  return std::string(text.substr(0, text.find_first_not_of("0123456789")));
}

// Returns the text of a Python literal of several lines; "" for other args and for literals with "\x".
std::string literal_text(std::string_view repr) {
  if (repr.starts_with('b')) repr.remove_prefix(1);
  if (repr.size() < 2 || (repr[0] != '\'' && repr[0] != '"') || repr.find("\\n") == repr.npos ||
      repr.find("\\x") != repr.npos)
    return {};
  std::string out;
  for (size_t i = 1; i + 1 < repr.size(); i++) {
    if (repr[i] != '\\') {
      out += repr[i];
      continue;
    }
    const char c = repr[++i];
    out += c == 'n' ? '\n' : c == 't' ? '\t' : c;
  }
  return out;
}

// Shortens a text whose first `common` bytes are equal in both graphs, so that a printed line shows the difference.
std::string shorten_to_difference(std::string_view text, size_t common) {
  constexpr size_t kStart = 40, kContext = 60;
  if (text.size() <= kMaxWidth || common < kMaxWidth - kContext) return std::string(text);
  return std::string(text.substr(0, kStart)) + " ... " + std::string(text.substr(common - kContext));
}

std::pair<std::string, std::string> shorten_to_difference(std::string_view a, std::string_view b) {
  const auto common = size_t(std::ranges::mismatch(a, b).in1 - a.begin());
  return {shorten_to_difference(a, common), shorten_to_difference(b, common)};
}

class DiffPrinter {
 public:
  explicit DiffPrinter(const DiffStyle& style) : style_(style) {}

  std::string print(const GraphDiff& diff) {
    if (diff.is_same) return {};
    constexpr size_t kMaxNumbers = 8;
    size_t shown = 0, renumbered = 0;
    std::string numbers;
    for (const NodeChange& c : diff.changes) {
      if (!is_renumbering(c)) {
        if (shown++ < style_.max_changes) append_change(c);
      } else if (renumbered++ < kMaxNumbers) {
        const PropertyDifference& d = c.differences[0];
        numbers += (numbers.empty() ? "" : ", ") + first_number(d.before) + " -> " + first_number(d.after);
      }
    }
    if (shown > style_.max_changes) out_ += "... and " + std::to_string(shown - style_.max_changes) + " more\n";
    if (renumbered)
      append_line("", count_text(renumbered, "buffer") + " with another number: " + numbers +
                  (renumbered > kMaxNumbers ? ", ..." : ""));
    out_ += std::to_string(diff.count_changes(NodeChange::Kind::Changed)) + " changed, " +
            std::to_string(diff.count_changes(NodeChange::Kind::Added)) + " added, " +
            std::to_string(diff.count_changes(NodeChange::Kind::Removed)) + " removed, of " +
            std::to_string(diff.num_nodes_a) + " and " + std::to_string(diff.num_nodes_b) + " nodes\n";
    return std::move(out_);
  }

 private:
  void append_line(std::string_view prefix, std::string_view text, std::string_view color = {}) {
    bool painted = style_.uses_color && !color.empty();
    if (painted) out_ += color;
    out_ += prefix;
    out_ += text.substr(0, kMaxWidth);
    if (text.size() > kMaxWidth) out_ += "...";
    if (painted) out_ += "\x1b[0m";
    out_ += '\n';
  }

  void append_text_diff(const std::string& before, const std::string& after) {
    std::string text = line_diff(before, after, {.context_lines = 1, .max_lines = 20, .uses_color = style_.uses_color});
    if (text.empty()) text = "the texts differ in the ends of their lines\n";
    if (text == last_line_diff_) return append_line("    ", "the same lines differ");
    last_line_diff_ = text;
    for (std::string_view l : lines_of(text)) append_line("    ", l);
  }

  void append_change(const NodeChange& c) {
    constexpr std::string_view kRed = "\x1b[31m", kGreen = "\x1b[32m", kBold = "\x1b[1m";
    const PropertyDifference* text = nullptr;  // the first difference between texts of several lines
    std::string head =
        std::string(kind_name(c.kind)) + " " + std::string(op_of_line(c.after.empty() ? c.before : c.after));
    for (size_t i = 0; i < c.differences.size(); i++) {
      const PropertyDifference& d = c.differences[i];
      const bool is_text = !literal_text(d.before).empty() && !literal_text(d.after).empty();
      auto [before, after] = shorten_to_difference(d.before, d.after);
      head += (i ? ", " : ": ") + d.property_name + (is_text ? ", these lines:" : " " + before + " -> " + after);
      if (is_text && !text) text = &d;
    }
    if (!c.grouped_lines.empty())
      head += " with " + count_text(c.grouped_lines.size(), "node") + " below";
    append_line("", head, kBold);
    const bool has_same_text = c.before == c.after;
    auto [before, after] = shorten_to_difference(c.before, c.after);
    if (text) append_text_diff(literal_text(text->before), literal_text(text->after));
    else if (has_same_text) append_line("    ", c.before);
    if (!c.before.empty() && !has_same_text && !text) append_line("  - ", before, kRed);
    if (!c.after.empty() && !has_same_text && !text) append_line("  + ", after, kGreen);
    bool added = c.kind == NodeChange::Kind::Added;
    for (size_t i = 0; i < c.grouped_lines.size() && i < kMaxWithLines; i++)
      append_line(added ? "  +   " : "  -   ", c.grouped_lines[i], added ? kGreen : kRed);
    if (c.grouped_lines.size() > kMaxWithLines)
      append_line("      ", "... and " + std::to_string(c.grouped_lines.size() - kMaxWithLines) + " more");
    if (!c.usage_text.empty()) append_line("    ", c.usage_text);
  }

  DiffStyle style_;
  std::string out_, last_line_diff_;
};

}  // namespace

std::string diff_as_text(const GraphDiff& diff, const DiffStyle& style) { return DiffPrinter(style).print(diff); }

std::string diff_as_json(const GraphDiff& diff) {
  return json_object([&](JsonWriter& json) {
    auto change = [&](const NodeChange& c) {
      json.member("kind", kind_name(c.kind));
      if (c.position_a >= 0) json.member("before", c.before);
      if (c.position_b >= 0) json.member("after", c.after);
      if (!c.differences.empty()) {
        json.key("differences").array([&] {
          for (const PropertyDifference& d : c.differences)
            json.object(
                [&] { json.member("what", d.property_name).member("before", d.before).member("after", d.after); });
        });
      }
      if (!c.grouped_lines.empty()) json.member("with", c.grouped_lines);
      if (!c.usage_text.empty()) json.member("place", c.usage_text);
    };
    json.member("same", diff.is_same).member("nodes", std::array{diff.num_nodes_a, diff.num_nodes_b});
    json.key("changes").array([&] {
      for (const NodeChange& c : diff.changes) json.object([&] { change(c); });
    });
  });
}

}  // namespace tgc
