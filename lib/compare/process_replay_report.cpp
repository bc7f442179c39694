#include <algorithm>

#include "lib/compare/process_replay.h"
#include "lib/diff/run_diff.h"
#include "lib/support/json_writer.h"
#include "lib/support/lines.h"
#include "lib/support/table.h"

namespace tgc {
namespace {

using CountsByName = std::map<std::string, size_t>;

CountsByName count_pairs(const ReplayDiff& d, auto add) {
  CountsByName out;
  for (const ReplayPair& p : d.differing_pairs) add(out, p);
  out.erase("");
  return out;
}
CountsByName counts_by_stage(const ReplayDiff& d) {
  return count_pairs(d, [](CountsByName& out, const ReplayPair& p) { out[p.stage]++; });
}
// As counts_by_stage(), but explains the stage "ast".
CountsByName counts_by_explained_stage(const ReplayDiff& d) {
  return count_pairs(d, [](CountsByName& out, const ReplayPair& p) {
    out[p.stage == "ast" ? "ast: they are other graphs before any rewrite" : p.stage]++;
  });
}
CountsByName counts_by_rule(const ReplayDiff& d) {
  return count_pairs(d, [](CountsByName& out, const ReplayPair& p) { out[p.rule]++; });
}
CountsByName counts_by_first_match(const ReplayDiff& d) {
  return count_pairs(d, [](CountsByName& out, const ReplayPair& p) { out[p.first_match_rule]++; });
}
CountsByName counts_by_cause(const ReplayDiff& d) {
  return count_pairs(d, [](CountsByName& out, const ReplayPair& p) {
    for (auto& [cause, n] : p.cause_counts) out[cause]++;
  });
}
CountsByName counts_by_op(const ReplayDiff& d) {
  return count_pairs(d, [](CountsByName& out, const ReplayPair& p) {
    for (auto& [op, n] : p.op_counts) out[op] += n;
  });
}

std::string counts_table(std::string_view title, const CountsByName& counts) {
  if (counts.empty()) return {};
  constexpr size_t kMaxRows = 12;
  auto rows = sorted_by_count(counts);
  std::string out(title);
  out += '\n';
  for (size_t i = 0; i < std::min(rows.size(), kMaxRows); i++) out += count_row_text(rows[i].second, rows[i].first);
  if (rows.size() > kMaxRows) out += "          and " + std::to_string(rows.size() - kMaxRows) + " more\n";
  return out;
}

// Returns a text such as "PERMUTE in place of EXPAND, RESHAPE" if a PERMUTE was added, and an EXPAND and a RESHAPE were
// removed.
std::string causes_text(const std::vector<std::string>& causes) {
  constexpr size_t kMaxCauses = 8;
  std::string added, removed, others;
  size_t more = 0;
  for (size_t i = 0; i < causes.size(); i++) {
    auto add = [&](std::string& to, std::string_view what, std::string_view comma) {
      if (i >= kMaxCauses) more++;
      else to.append(to.empty() ? "" : comma).append(what);
    };
    std::string_view cause = causes[i];
    if (cause.ends_with(" added")) add(added, cause.substr(0, cause.size() - 6), ", ");
    else if (cause.ends_with(" removed")) add(removed, cause.substr(0, cause.size() - 8), ", ");
    else add(others, cause, "; ");
  }
  std::string out = added.empty()     ? (removed.empty() ? "" : removed + " removed")
                    : removed.empty() ? added + " added"
                                      : added + " in place of " + removed;
  if (!others.empty()) out += (out.empty() ? "" : "; ") + others;
  return more ? out + " and " + std::to_string(more) + " more" : out;
}

size_t num_changes(const ReplayPair& p) {
  size_t n = 0;
  for (auto& [cause, count] : p.cause_counts) n += count;
  return n;
}

std::string indented_beginning(const std::string& detail) {
  constexpr size_t kMaxLines = 12;
  std::string out;
  size_t n = 0;
  for (std::string_view line : lines_of(detail)) {
    if (n++ == kMaxLines) return out + "          ...\n";
    out.append("          ").append(line) += '\n';
  }
  return out;
}

// Returns a table with groups of causes that occur together, the most frequent group first. A group has the most
// frequent cause that is in no group yet, and each cause that occurs almost only, and almost always, together with it.
// A row has the number of pairs with the first cause, the group, the number of pairs that have no cause outside the
// group, and the pair with the fewest changes. If there are several pairs, the difference of this pair follows the
// first row.
std::string causes_table(const ReplayDiff& d) {
  constexpr size_t kMaxRows = 12;
  CountsByName left = counts_by_cause(d);
  if (left.empty()) return {};
  std::string out = "what differs there, and in how many (one may differ in several ways):\n";
  for (size_t line = 0; line < kMaxRows && !left.empty(); line++) {
    auto common = std::ranges::max_element(left, {}, [](auto& row) { return row.second; });
    auto [cause, count] = *common;
    CountsByName beside;  // by other cause: number of pairs that also have `cause`
    for (const ReplayPair& p : d.differing_pairs)
      if (p.cause_counts.contains(cause))
        for (auto& [other, n] : p.cause_counts) beside[other]++;
    std::vector<std::string> together{cause};
    for (auto& [other, n] : beside) {
      auto of = left.find(other);
      if (other == cause || of == left.end() || n * 10 < count * 9 || of->second * 9 > n * 10) continue;
      together.push_back(other);
    }
    for (const std::string& c : together) left.erase(c);
    size_t alone = 0;
    const ReplayPair* simplest = nullptr;
    for (const ReplayPair& p : d.differing_pairs) {
      if (!p.cause_counts.contains(cause)) continue;
      alone += std::ranges::all_of(p.cause_counts, [&](auto& c) { return std::ranges::count(together, c.first) > 0; });
      if (!simplest || num_changes(p) < num_changes(*simplest)) simplest = &p;
    }
    const std::string by_this = alone ? std::to_string(alone) + " by this alone; " : "";
    out += count_row_text(count, causes_text(together) + "  (" + by_this + "as in " + simplest->id_a + ")");
    if (line == 0 && d.differing_pairs.size() > 1) out += indented_beginning(simplest->difference_text);
  }
  if (!left.empty()) out += "          and " + std::to_string(left.size()) + " more\n";
  return out;
}

std::string first_names_text(const std::vector<std::string>& names) {
  std::string out;
  for (size_t i = 0; i < std::min<size_t>(names.size(), 3); i++) out += (i ? ", " : ": ") + names[i];
  return out + (names.size() > 3 ? ", ..." : "");
}

}  // namespace

size_t ReplayDiff::num_same_sources() const {
  return size_t(std::count_if(differing_pairs.begin(), differing_pairs.end(),
                              [](const ReplayPair& p) { return p.has_same_source; }));
}

std::string ReplayDiff::text(size_t show) const {
  std::string out;
  for (size_t i = 0; i < std::min(show, differing_pairs.size()); i++) {
    const ReplayPair& p = differing_pairs[i];
    out += "--- " + record_label(p.id_a + (p.id_b == p.id_a ? "" : " and " + p.id_b), p.target) +
           (p.name.empty() ? "" : " " + p.name) + ": " + p.stage + "\n";
    if (!p.rule.empty()) out += "by the rule " + p.rule + "\n";
    else if (!p.first_match_rule.empty()) out += "first differing match: " + p.first_match_rule + "\n";
    out += p.difference_text;
    if (!out.ends_with('\n')) out += '\n';
  }
  if (differing_pairs.size() > show && show)
    out += "... and " + std::to_string(differing_pairs.size() - show) + " more: --show=N\n";
  if (producer_a != producer_b) out += producer_a + " and " + producer_b + "\n";
  out +=
      std::to_string(num_same + num_different) + " compared, " + std::to_string(num_same) + " the same, " +
      std::to_string(num_different) + " different" +
      (num_same_sources() ? ", but " + std::to_string(num_same_sources()) + " of these come to the same source" : "") +
      "\n";
  if (num_only_in_a) out += std::to_string(num_only_in_a) + " only in A" + first_names_text(names_only_in_a) + "\n";
  if (num_only_in_b) out += std::to_string(num_only_in_b) + " only in B" + first_names_text(names_only_in_b) + "\n";
  return out + counts_table("where they first differ:", counts_by_explained_stage(*this)) +
         counts_table("the rule that did it:", counts_by_rule(*this)) +
         counts_table("first differing match, of a rule that is perhaps not the cause:", counts_by_first_match(*this)) +
         causes_table(*this);
}

std::string ReplayDiff::as_json() const {
  return json_object([&](JsonWriter& json) {
    json.member("same", is_same()).member("runs", num_same + num_different).member("different", num_different);
    json.member("only_in_a", num_only_in_a).member("only_in_b", num_only_in_b);
    json.member("producer_a", producer_a).member("producer_b", producer_b);
    json.key("kernels").object([&] {
      json.member("same", num_same)
          .member("different", num_different)
          .member("only_a", num_only_in_a)
          .member("only_b", num_only_in_b);
    });
    json.member("first_difference", counts_by_stage(*this))
        .member("by_rule", counts_by_rule(*this))
        .member("by_op", counts_by_op(*this));
    json.member("by_cause", counts_by_cause(*this));
    json.key("list").array([&] {
      for (const ReplayPair& p : differing_pairs)
        json.start_line().object([&] {
          json.member("id", p.id_a).member("id_b", p.id_b).member("target", p.target).member("name", p.name);
          json.member("stage", p.stage).member("rule", p.rule.empty() ? std::nullopt : std::optional(p.rule));
          if (!p.first_match_rule.empty()) json.member("first_match", p.first_match_rule);
          json.member("same_source", p.has_same_source);
        });
    });
    json.key("diffs").array([&] {
      for (const ReplayPair& p : differing_pairs)
        json.start_line().object([&] {
          json.member("id", p.id_a).member("target", p.target).member("same", false).member("stage", p.stage);
          json.key(p.difference_text.starts_with("\"lines\"") ? "lines" : "diff")
              .raw_json(p.difference_text.substr(p.difference_text.find(':') + 1));
        });
    });
  }) + "\n";
}

CiReport ReplayDiff::ci(const std::string& file) const {
  CiReport out = make_diff_ci_report();
  for (const std::string& name : same_names) out.add_case({.name = name});
  for (const ReplayPair& p : differing_pairs) {
    CiCase test{.verdict = CiVerdict::Failed, .name = p.id_a + (p.name.empty() ? "" : " (" + p.name + ")"),
                .rule = "kernel-differs", .message = "'" + p.stage + "' differs", .file = file};
    if (p.has_same_source) test.message += ", the source is the same";
    if (!p.rule.empty()) test.message += ", by the rule " + p.rule;
    const size_t arrow = p.rule.rfind("-> ");  // in "A -> B", the second recording has B
    auto [rule_file, line] = parse_file_and_line(std::string_view(p.rule).substr(arrow == p.rule.npos ? 0 : arrow + 3));
    if (!rule_file.empty()) test.file = "tinygrad/" + rule_file, test.line = line;
    // a difference that begins with a quote is JSON
    if (!p.difference_text.starts_with('"')) test.details_text = p.difference_text;
    out.add_case(std::move(test));
  }
  auto add_alone = [&](const std::vector<std::string>& names, const std::string& where) {
    for (const std::string& name : names)
      out.add_case({.verdict = CiVerdict::Failed,
                    .name = name,
                    .rule = "kernel-missing",
                    .message = "is only in " + where,
                    .file = file});
  };
  add_alone(names_only_in_a, "A"), add_alone(names_only_in_b, "B");
  return out;
}

}  // namespace tgc
