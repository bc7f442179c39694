#include "lib/rules/match_stats.h"

#include <algorithm>

#include "lib/compilation/rule_sources.h"
#include "lib/support/counted.h"
#include "lib/support/json_writer.h"

namespace tgc {
namespace {

std::string rule_file_name(const Rule& rule) {
  std::string_view file = short_file_name(rule);
  return std::string(file.substr(file.rfind('/') + 1));
}

std::string rule_text(const Rule& rule) {
  return std::string(rule.name) + ": " + pat::pattern_text(*rule.left) + " -> " + right_side_text(rule);
}

bool matches_ops(const Rule& rule, OpSet ops) { return ops.empty() || rule.left->ops.intersects(ops); }

// Returns the rules that were tried, with their counters, by ascending total time. Leaves out rules whose root has none
// of `ops`, unless `ops` is empty.
std::vector<std::pair<const Rule*, RuleCounters>> tried_rules(const std::vector<RuleCounters>& stats, OpSet ops) {
  std::vector<std::pair<const Rule*, RuleCounters>> out;
  for (uint32_t rule_id = 0; rule_id < stats.size(); rule_id++)
    if (const Rule* rule = stats[rule_id].num_attempts ? rule_of_id(rule_id) : nullptr; rule && matches_ops(*rule, ops))
      out.emplace_back(rule, stats[rule_id]);
  std::stable_sort(out.begin(), out.end(), [](auto& a, auto& b) { return a.second.total_ns < b.second.total_ns; });
  return out;
}

std::string counters_row(const RuleCounters& c) {
  return formatted("%6llu / %7llu -- %9.2f / %9.2f ms -- ", static_cast<unsigned long long>(c.num_hits),
                   static_cast<unsigned long long>(c.num_attempts), double(c.hit_ns) / 1e6, double(c.total_ns) / 1e6);
}

std::string branch_row(std::string_view name, uint64_t hits) {
  return formatted("%6llu   of them by ", static_cast<unsigned long long>(hits)) + std::string(name) + "\n";
}

std::string source_note(const Rule& rule) {
  std::string_view source = tinygrad_source(rule);
  return source.empty() ? "" : "  (" + std::string(source) + ")";
}

RuleCounters& operator+=(RuleCounters& a, const RuleCounters& b) {
  a.num_hits += b.num_hits, a.num_attempts += b.num_attempts, a.hit_ns += b.hit_ns, a.total_ns += b.total_ns;
  return a;
}

}  // namespace

std::string stats_text(const std::vector<RuleCounters>& stats, OpSet ops) {
  std::string out;
  RuleCounters total;
  size_t hit = 0, count = 0;
  for (auto& [rule, c] : tried_rules(stats, ops)) {
    std::string place = rule_file_name(*rule) + ":" + std::to_string(rule->line);
    place.resize(std::max<size_t>(place.size(), 24), ' ');
    out += counters_row(c) + place + " " + rule_text(*rule) + source_note(*rule) + "\n";
    for (auto& [name, hits] : c.branch_hit_counts) out += branch_row(name, hits);
    total += c;
    count++;
    hit += c.num_hits > 0;
  }
  return out + counters_row(total) + "TOTAL\n" + std::to_string(count) + " rules, " + std::to_string(hit) +
         " matched at least once\n";
}

std::string never_hit_text(const std::vector<RuleCounters>& stats, const std::vector<const RuleSet*>& sets,
                           OpSet ops) {
  std::string out;
  std::vector<bool> seen(num_rules());
  for (const RuleSet* set : sets)
    for (const Rule* rule : set->rules()) {
      if (seen[rule->rule_id] || !matches_ops(*rule, ops)) continue;
      seen[rule->rule_id] = true;
      if (rule->rule_id < stats.size() && stats[rule->rule_id].num_hits) continue;
      out += std::string(short_file_name(*rule)) + ":" + std::to_string(rule->line) + "  " + rule_text(*rule) + "\n";
    }
  return out;
}

std::string stats_json(const std::vector<RuleCounters>& stats, const std::vector<const RuleSet*>& sets,
                       OpSet ops) {
  return json_object([&](JsonWriter& json) {
    auto write_numbers = [&](const RuleCounters& c) {
      json.member("hits", c.num_hits).member("attempts", c.num_attempts);
      json.member("match_ms", double(c.hit_ns) / 1e6).member("total_ms", double(c.total_ns) / 1e6);
    };
    RuleCounters total;
    std::vector<bool> is_written(num_rules());
    auto write_rule = [&](const Rule& rule, const RuleCounters& c) {
      if (is_written[rule.rule_id] || !matches_ops(rule, ops)) return;
      is_written[rule.rule_id] = true;
      json.object([&] {
        json.member("name", rule.name).member("set", rule.rule_set_name).member("file", short_file_name(rule));
        json.member("line", rule.line).member("tinygrad", tinygrad_source(rule));
        write_numbers(c);
        if (!c.branch_hit_counts.empty()) json.member("branches", c.branch_hit_counts);
      });
      total += c;
    };
    json.key("rules").array([&] {
      for (auto& [rule, c] : tried_rules(stats, ops)) write_rule(*rule, c);
      for (const RuleSet* set : sets)
        for (const Rule* rule : set->rules()) write_rule(*rule, {});
    });
    json.key("total").object([&] { write_numbers(total); });
  });
}

}  // namespace tgc
