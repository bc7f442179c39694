#include "lib/bisect/known_faults.h"

#include <cctype>
#include <cstdlib>
#include <map>
#include <optional>

#include "lib/bisect/opened_loop.h"
#include "lib/support/lines.h"
#include "lib/uop/graph.h"

namespace tgc {
namespace {

// Returns the value of `u` if it is computed from constants by casts, sums, differences, products and negations. Does
// not round or truncate to dtypes.
std::optional<double> constant_value(UOp u) {
  if (u.is(Op::CONST) && !u.is_invalid() && u.arg().kind() != Arg::Kind::None) return u.arg().to_const().to_double();
  if (u.is(Op::CAST)) return constant_value(u.src(0));
  if (u.is(Op::NEG))
    if (auto x = constant_value(u.src(0))) return -*x;
  if (!u.in({Op::ADD, Op::MUL, Op::SUB})) return std::nullopt;
  const auto x = constant_value(u.src(0)), y = constant_value(u.src(1));
  if (!x || !y) return std::nullopt;
  return u.is(Op::ADD) ? *x + *y : u.is(Op::SUB) ? *x - *y : *x * *y;
}

bool has_dtype(UOp u, std::string_view name) {
  const DType d = u.dtype().scalar();
  if (name == "int") return dtypes::is_int(d) && !dtypes::is_bool(d);
  return d.repr() == "dtypes." + std::string(name);
}

// Matches the sides of one rewrite. Reads a pattern from left to right, and binds its variables to nodes.
class PatternMatcher {
 public:
  bool matches(std::string_view pattern, UOp u) {
    pattern_rest_ = pattern;
    return match_node(u) && pattern_rest_.empty();
  }

 private:
  using Bindings = std::map<std::string, UOp, std::less<>>;

  std::string_view read_word() {
    size_t n = 0;
    while (n < pattern_rest_.size() &&
           (std::isalnum(uint8_t(pattern_rest_[n])) || pattern_rest_[n] == '_' || pattern_rest_[n] == '.'))
      n++;
    const std::string_view out = pattern_rest_.substr(0, n);
    pattern_rest_.remove_prefix(n);
    return out;
  }
  bool accept_text(std::string_view text) {
    if (!pattern_rest_.starts_with(text)) return false;
    pattern_rest_.remove_prefix(text.size());
    return true;
  }

  // Removes the first pattern of pattern_rest_, and returns true if it matches `u`.
  bool match_node(UOp u) {
    const bool is_negative = accept_text("-");
    const std::string_view name = read_word();
    if (is_negative || std::isdigit(uint8_t(name[0]))) {
      const auto value = constant_value(u);
      return value && *value == (is_negative ? -1 : 1) * std::strtod(std::string(name).c_str(), nullptr);
    }
    const std::string_view dtype = accept_text(":") ? read_word() : "";
    const bool is_typed = dtype.empty() || has_dtype(u, dtype);
    if (std::islower(uint8_t(name[0]))) {
      if (pattern_rest_.starts_with("-")) return match_difference(name, u) && is_typed;
      return bind_variable(name, u) && is_typed;
    }
    if (!accept_text("(")) return name == name_of(u.op()) && is_typed;
    const bool is_right = name == name_of(u.op()) && is_typed;
    const std::string_view sources = pattern_rest_;
    const Bindings bound = bindings_;
    if (this->match_sources(u, false) && is_right) return true;
    const std::string_view after = pattern_rest_;
    pattern_rest_ = sources, bindings_ = bound;
    const bool is_swapped = is_right && u.in({Op::ADD, Op::MUL, Op::MAX}) && this->match_sources(u, true);
    pattern_rest_ = after;
    return is_swapped;
  }
  bool match_sources(UOp u, bool is_swapped) {
    bool out = true;
    for (size_t i = 0;; i++) {
      const size_t at = is_swapped ? u.num_src() - 1 - i : i;
      if (i < u.num_src()) out = match_node(u.src(at)) && out;
      else out = false, skip_pattern();
      if (accept_text(")")) return out && i + 1 == u.num_src();
      accept_text(", ");
    }
  }
  void skip_pattern() {  // the node has no source for the first pattern of pattern_rest_
    size_t depth = 0;
    while (!pattern_rest_.empty() && (depth || (pattern_rest_[0] != ',' && pattern_rest_[0] != ')'))) {
      depth += pattern_rest_[0] == '(', depth -= pattern_rest_[0] == ')';
      pattern_rest_.remove_prefix(1);
    }
  }
  bool bind_variable(std::string_view name, UOp u) {
    if (name.size() == 2 && name[0] == 'c' && !constant_value(u)) return false;
    auto [it, is_new] = bindings_.try_emplace(std::string(name), u);
    return is_new || it->second == u;
  }
  bool match_difference(std::string_view name, UOp u) {
    accept_text("-");
    const auto a = bindings_.find(name), b = bindings_.find(read_word());
    const auto value = constant_value(u);
    if (!value || a == bindings_.end() || b == bindings_.end()) return false;
    return *value == *constant_value(a->second) - *constant_value(b->second);
  }

  std::string_view pattern_rest_;
  Bindings bindings_;
};

std::string text_in_backticks(std::string_view text, size_t from) {
  const size_t begin = text.find('`', from), end = text.find('`', begin + 1);
  return begin == text.npos || end == text.npos ? "" : std::string(text.substr(begin + 1, end - begin - 1));
}

void add_entry_line(KnownFault& entry, std::string_view line, bool& is_program) {
  if (line.starts_with("```")) {
    is_program = line == "```python";
  } else if (is_program) {
    entry.program_text += std::string(line) + "\n";
  } else if (line.starts_with("Rule: `")) {
    const std::string rule = text_in_backticks(line, 0);
    const size_t arrow = rule.find(" -> ");
    entry.before_pattern = rule.substr(0, arrow),
    entry.after_pattern = arrow == rule.npos ? "" : rule.substr(arrow + 4);
    entry.rule_file = text_in_backticks(line, line.find("` in `") + 1);
    entry.is_only_for_opened_loops = line.ends_with(", if it opens a loop");
  } else if (line.starts_with("Issue: ")) {
    entry.issue_url = line.substr(7);
  } else if (!line.empty()) {
    entry.description += (entry.description.empty() ? "" : " ") + std::string(line);
  }
}

}  // namespace

std::vector<KnownFault> read_known_faults(std::string_view markdown) {
  std::vector<KnownFault> out;
  bool is_program = false, is_in_entry = false;
  for (std::string_view line : lines_of(markdown)) {
    if (line.starts_with("#")) {
      is_program = false, is_in_entry = line.starts_with("### `");
      if (is_in_entry) out.push_back({.name = text_in_backticks(line, 0)});
    } else if (is_in_entry) {
      add_entry_line(out.back(), line, is_program);
    }
  }
  std::erase_if(out, [](const KnownFault& f) { return f.before_pattern.empty() || f.after_pattern.empty(); });
  return out;
}

std::span<const KnownFault> known_faults() {
  static const std::vector<KnownFault> all = [] {
    std::vector<KnownFault> out;
    for (std::string_view table : kKnownFaultTables)
      for (KnownFault& fault : read_known_faults(table)) out.push_back(std::move(fault));
    return out;
  }();
  return all;
}

bool matches_rewrite(std::string_view before_pattern, std::string_view after_pattern, UOp before, UOp after) {
  PatternMatcher matcher;
  return matcher.matches(before_pattern, before) && matcher.matches(after_pattern, after);
}

const KnownFault* known_fault_of_rewrite(std::string_view place, UOp before, UOp after) {
  const std::string_view file = place.substr(0, place.find(':'));
  for (const KnownFault& fault : known_faults())
    if (fault.rule_file == file && matches_rewrite(fault.before_pattern, fault.after_pattern, before, after) &&
        (!fault.is_only_for_opened_loops || find_opened_loop(before, after)))
      return &fault;
  return nullptr;
}

}  // namespace tgc
