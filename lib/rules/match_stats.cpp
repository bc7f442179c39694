#include "lib/rules/match_stats.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "lib/rules/rule_sources.h"

namespace tgc {
namespace {

std::string file_name(const Rule& rule) {
  std::string_view file = short_file(rule);
  return std::string(file.substr(file.rfind('/') + 1));
}

std::string algebra(const Rule& rule) {
  return std::string(rule.name) + ": " + pat::to_text(*rule.left) + " -> " + right_text(rule);
}

// The rules that were tried, by the time they took.
std::vector<std::pair<const Rule*, RuleCounters>> tried(const std::vector<RuleCounters>& stats) {
  std::vector<std::pair<const Rule*, RuleCounters>> out;
  for (uint32_t id = 0; id < stats.size(); id++)
    if (const Rule* rule = stats[id].attempts ? rule_of(id) : nullptr) out.emplace_back(rule, stats[id]);
  std::stable_sort(out.begin(), out.end(), [](auto& a, auto& b) { return a.second.total_ns < b.second.total_ns; });
  return out;
}

std::string row(const RuleCounters& c) {
  char text[96];
  std::snprintf(text, sizeof text, "%6llu / %7llu -- %9.2f / %9.2f ms -- ", static_cast<unsigned long long>(c.hits),
                static_cast<unsigned long long>(c.attempts), double(c.hit_ns) / 1e6, double(c.total_ns) / 1e6);
  return text;
}

// Below a rule with several foldings, the hits of each that applied.
std::string branch_row(std::string_view name, uint64_t hits) {
  char text[32];
  std::snprintf(text, sizeof text, "%6llu ", static_cast<unsigned long long>(hits));
  return text + std::string("  of them by ") + std::string(name) + "\n";
}

std::string source_note(const Rule& rule) {
  std::string_view source = tinygrad_source(rule);
  return source.empty() ? "" : "  (" + std::string(source) + ")";
}

RuleCounters& operator+=(RuleCounters& a, const RuleCounters& b) {
  a.hits += b.hits, a.attempts += b.attempts, a.hit_ns += b.hit_ns, a.total_ns += b.total_ns;
  return a;
}

}  // namespace

std::string stats_text(const std::vector<RuleCounters>& stats) {
  std::string out;
  RuleCounters total;
  size_t hit = 0, count = 0;
  for (auto& [rule, c] : tried(stats)) {
    std::string place = file_name(*rule) + ":" + std::to_string(rule->line);
    place.resize(std::max<size_t>(place.size(), 24), ' ');
    out += row(c) + place + " " + algebra(*rule) + source_note(*rule) + "\n";
    for (auto& [name, hits] : c.branches) out += branch_row(name, hits);
    total += c;
    count++;
    hit += c.hits > 0;
  }
  return out + row(total) + "TOTAL\n" + std::to_string(count) + " rules, " + std::to_string(hit) + " matched once\n";
}

std::string never_hit_text(const std::vector<RuleCounters>& stats, const std::vector<const RuleSet*>& sets) {
  std::string out;
  std::vector<bool> seen(num_rules());
  for (const RuleSet* set : sets)
    for (const Rule* rule : set->rules()) {
      if (seen[rule->id]) continue;
      seen[rule->id] = true;
      if (rule->id < stats.size() && stats[rule->id].hits) continue;
      out += std::string(short_file(*rule)) + ":" + std::to_string(rule->line) + "  " + algebra(*rule) + "\n";
    }
  return out;
}

std::string stats_json(const std::vector<RuleCounters>& stats, const std::vector<const RuleSet*>& sets) {
  using nlohmann::ordered_json;
  auto numbers = [](ordered_json j, const RuleCounters& c) {
    j["hits"] = c.hits, j["attempts"] = c.attempts, j["match_ms"] = double(c.hit_ns) / 1e6,
    j["total_ms"] = double(c.total_ns) / 1e6;
    return j;
  };
  ordered_json rules = ordered_json::array();
  RuleCounters total;
  auto add_rule = [&](const Rule& rule, const RuleCounters& c) {
    rules.push_back(numbers({{"name", rule.name},
                             {"set", rule.set},
                             {"file", short_file(rule)},
                             {"line", rule.line},
                             {"tinygrad", tinygrad_source(rule)}},
                            c));
    for (auto& [name, hits] : c.branches) rules.back()["branches"][std::string(name)] = hits;
    total += c;
  };
  std::vector<bool> told(num_rules());
  for (auto& [rule, c] : tried(stats)) {
    told[rule->id] = true;
    add_rule(*rule, c);
  }
  for (const RuleSet* set : sets)
    for (const Rule* rule : set->rules()) {
      if (told[rule->id]) continue;
      told[rule->id] = true;
      add_rule(*rule, {});
    }
  return ordered_json{{"rules", std::move(rules)}, {"total", numbers(ordered_json::object(), total)}}.dump();
}

}  // namespace tgc
