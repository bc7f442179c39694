#include "lib/support/lines.h"

#include <algorithm>
#include <functional>

namespace tgc {
namespace {

constexpr int64_t kMaxEdits = 500;

struct EditStep {
  char op;
  size_t old_line, new_line;
};

// Returns the shortest edit script from `a` to `b` (greedy algorithm of Myers 1986). If more than kMaxEdits edits are
// needed, the script ends by deleting the rest of `a` and inserting the rest of `b`.
std::vector<EditStep> edit_script(const std::vector<uint64_t>& a, const std::vector<uint64_t>& b) {
  auto n = int64_t(a.size()), m = int64_t(b.size());
  int64_t limit = std::min(n + m, kMaxEdits);
  std::vector<std::vector<int64_t>> trace;
  std::vector<int64_t> v(size_t(2 * limit + 3), 0);
  auto at = [&](std::vector<int64_t>& w, int64_t k) -> int64_t& { return w[size_t(k + limit + 1)]; };
  int64_t d = 0, end_k = 0;
  bool found = false;
  for (; d <= limit && !found; d++) {
    trace.push_back(v);
    for (int64_t k = -d; k <= d; k += 2) {
      bool down = k == -d || (k != d && at(v, k - 1) < at(v, k + 1));
      int64_t x = down ? at(v, k + 1) : at(v, k - 1) + 1, y = x - k;
      while (x < n && y < m && a[size_t(x)] == b[size_t(y)]) x++, y++;
      at(v, k) = x;
      if (x >= n && y >= m) {
        end_k = k;
        found = true;
        break;
      }
    }
  }
  std::vector<EditStep> out;
  int64_t x = n, y = m;
  if (!found) {
    d = int64_t(trace.size());
    int64_t best = -1;
    for (int64_t k = -(d - 1); k <= d - 1; k += 2)
      if (int64_t px = std::min(at(v, k), n), py = px - k; py >= 0 && py <= m && px + py > best)
        best = px + py, end_k = k, x = px, y = py;
    for (int64_t j = m; j > y; j--) out.push_back({'+', size_t(x), size_t(j - 1)});
    for (int64_t i = n; i > x; i--) out.push_back({'-', size_t(i - 1), size_t(y)});
  }
  int64_t k = end_k;
  for (int64_t step = d - 1; step >= 0; step--) {
    auto& w = trace[size_t(step)];
    bool down = k == -step || (k != step && at(w, k - 1) < at(w, k + 1));
    int64_t before_k = down ? k + 1 : k - 1;
    int64_t before_x = step == 0 ? 0 : at(w, before_k), before_y = step == 0 ? 0 : before_x - before_k;
    while (x > before_x && y > before_y && x > 0 && y > 0) x--, y--, out.push_back({' ', size_t(x), size_t(y)});
    if (step == 0) break;
    if (down) y--, out.push_back({'+', size_t(x), size_t(y)});
    else x--, out.push_back({'-', size_t(x), size_t(y)});
    k = before_k;
  }
  std::reverse(out.begin(), out.end());
  return out;
}

std::vector<uint64_t> hash_lines(const std::vector<std::string_view>& lines) {
  std::vector<uint64_t> out;
  for (auto line : lines) out.push_back(std::hash<std::string_view>()(line));
  return out;
}

class LineDiffPrinter {
 public:
  LineDiffPrinter(const std::vector<std::string_view>& a, const std::vector<std::string_view>& b,
                  const LineDiffOptions& options)
      : old_lines_(a), new_lines_(b), options_(options) {}

  std::string print(const std::vector<EditStep>& steps) {
    size_t shown = 0;
    for (size_t i = 0; i < steps.size();) {
      if (steps[i].op == ' ') {
        i++;
        continue;
      }
      size_t begin = i - std::min(i, options_.context_lines), end = i, quiet = 0;
      for (size_t j = i; j < steps.size() && quiet <= 2 * options_.context_lines; j++) {
        quiet = steps[j].op == ' ' ? quiet + 1 : 0;
        if (!quiet) end = j + 1;
      }
      size_t stop = std::min(steps.size(), end + options_.context_lines);
      if (shown >= options_.max_lines) {
        out_ += "  ... and more\n";
        break;
      }
      out_ += "@@ line " + std::to_string(steps[begin].old_line + 1) + " / " +
              std::to_string(steps[begin].new_line + 1) + " @@\n";
      for (size_t j = begin; j < stop; j++) {
        if (shown++ >= options_.max_lines) {
          out_ += "  ... and more\n";
          return std::move(out_);
        }
        print_line(steps[j]);
      }
      i = stop;
    }
    return std::move(out_);
  }

 private:
  void print_line(const EditStep& s) {
    std::string_view text = s.op == '+' ? new_lines_[s.new_line] : old_lines_[s.old_line];
    const char* color = !options_.uses_color || s.op == ' ' ? "" : s.op == '-' ? "\x1b[31m" : "\x1b[32m";
    out_ += color;
    out_ += s.op;
    out_ += ' ';
    out_ += text.substr(0, options_.max_width);
    if (text.size() > options_.max_width) out_ += "...";
    if (*color) out_ += "\x1b[0m";
    out_ += '\n';
  }

  const std::vector<std::string_view>&old_lines_, &new_lines_;
  const LineDiffOptions& options_;
  std::string out_;
};

}  // namespace

std::string line_diff(std::string_view old_text, std::string_view new_text, const LineDiffOptions& options) {
  auto a = lines_of(old_text), b = lines_of(new_text);
  auto keys_a = options.old_keys.size() == a.size() ? options.old_keys : hash_lines(a);
  auto keys_b = options.new_keys.size() == b.size() ? options.new_keys : hash_lines(b);
  return LineDiffPrinter(a, b, options).print(edit_script(keys_a, keys_b));
}

}  // namespace tgc
