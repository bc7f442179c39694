// Formats a GraphDiff as text and as JSON.
#include <array>

#include "lib/diff/graph_diff.h"
#include "lib/support/counted.h"
#include "lib/support/json_writer.h"

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

// Returns the op of a node's line: "MUL" for "%12 = MUL dtypes.index ...".
std::string_view op_of_line(std::string_view line) {
  size_t at = line.find(" = ");
  if (at == line.npos) return line;
  line.remove_prefix(at + 3);
  return line.substr(0, line.find(' '));
}

class Printer {
 public:
  explicit Printer(const DiffStyle& style) : style_(style) {}

  std::string print(const GraphDiff& diff) {
    if (diff.same) return {};
    size_t shown = 0;
    for (const NodeChange& c : diff.changes) {
      if (shown++ == style_.max_changes) break;
      change(c);
    }
    if (diff.changes.size() > style_.max_changes)
      out_ += "... and " + std::to_string(diff.changes.size() - style_.max_changes) + " more\n";
    out_ += std::to_string(diff.count(NodeChange::Kind::Changed)) + " changed, " +
            std::to_string(diff.count(NodeChange::Kind::Added)) + " added, " +
            std::to_string(diff.count(NodeChange::Kind::Removed)) + " removed, of " + std::to_string(diff.nodes_a) +
            " and " + std::to_string(diff.nodes_b) + " nodes\n";
    return std::move(out_);
  }

 private:
  void line(std::string_view prefix, std::string_view text, std::string_view color = {}) {
    bool painted = style_.color && !color.empty();
    if (painted) out_ += color;
    out_ += prefix;
    out_ += text.substr(0, kMaxWidth);
    if (text.size() > kMaxWidth) out_ += "...";
    if (painted) out_ += "\x1b[0m";
    out_ += '\n';
  }

  void change(const NodeChange& c) {
    constexpr std::string_view kRed = "\x1b[31m", kGreen = "\x1b[32m", kBold = "\x1b[1m";
    std::string head =
        std::string(kind_name(c.kind)) + " " + std::string(op_of_line(c.after.empty() ? c.before : c.after));
    for (size_t i = 0; i < c.differences.size(); i++) {
      const Difference& d = c.differences[i];
      head += (i ? ", " : ": ") + d.what + " " + d.before + " -> " + d.after;
    }
    if (!c.with.empty())
      head += " with " + counted(c.with.size(), "node") + " below";
    line("", head, kBold);
    const bool read_the_same = c.before == c.after;  // equal lines are omitted: the heading names what differs
    if (read_the_same) line("    ", c.before);
    if (!c.before.empty() && !read_the_same) line("  - ", c.before, kRed);
    if (!c.after.empty() && !read_the_same) line("  + ", c.after, kGreen);
    bool added = c.kind == NodeChange::Kind::Added;
    for (size_t i = 0; i < c.with.size() && i < kMaxWithLines; i++)
      line(added ? "  +   " : "  -   ", c.with[i], added ? kGreen : kRed);
    if (c.with.size() > kMaxWithLines)
      line("      ", "... and " + std::to_string(c.with.size() - kMaxWithLines) + " more");
    if (!c.place.empty()) line("    ", c.place);
  }

  DiffStyle style_;
  std::string out_;
};

}  // namespace

std::string to_text(const GraphDiff& diff, const DiffStyle& style) { return Printer(style).print(diff); }

std::string to_json(const GraphDiff& diff) {
  return json_object([&](JsonWriter& json) {
    auto change = [&](const NodeChange& c) {
      json.member("kind", kind_name(c.kind));
      if (c.a >= 0) json.member("before", c.before);
      if (c.b >= 0) json.member("after", c.after);
      if (!c.differences.empty()) {
        json.key("differences").array([&] {
          for (const Difference& d : c.differences)
            json.object([&] { json.member("what", d.what).member("before", d.before).member("after", d.after); });
        });
      }
      if (!c.with.empty()) json.member("with", c.with);
      if (!c.place.empty()) json.member("place", c.place);
    };
    json.member("same", diff.same).member("nodes", std::array{diff.nodes_a, diff.nodes_b});
    json.key("changes").array([&] {
      for (const NodeChange& c : diff.changes) json.object([&] { change(c); });
    });
  });
}

}  // namespace tgc
