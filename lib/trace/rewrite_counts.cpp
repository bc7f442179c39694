#include "lib/trace/rewrite_counts.h"

#include <algorithm>

#include "lib/support/counted.h"
#include "lib/support/json_writer.h"
#include "lib/support/table.h"

namespace tgc {
namespace {

// Returns the names of `counts`, the largest count first.
std::string names_by_count(const std::map<std::string, size_t>& counts) {
  std::string out;
  for (auto& [name, count] : by_count(counts)) out += (out.empty() ? "" : ", ") + name;
  return out;
}

}  // namespace

Status RewriteCounts::add(Pipeline& pipeline) {
  auto graphs = pipeline.graphs(selection_);
  if (!graphs) return graphs.diag();
  pipelines_++, graphs_ += graphs->size();
  if (pipeline.input().record && selection_.is_empty() && ops_.empty()) add_times(*pipeline.input().record);
  for (UOp root : *graphs)
    for (UOp u : toposort(root))
      if (counts(u)) nodes_[std::string(shown_op(u))]++;
  if (!pipeline.can(Ability::Rewrites)) {
    lacks_rewrites_ = true;
    return Unit{};
  }
  auto rewrites = pipeline.rewrites(selection_);
  if (!rewrites) return rewrites.diag();
  for (const Rewrite* r : *rewrites) {
    if (!counts(r->before)) continue;
    if (r->is_discarded) {
      discarded_++;
      continue;
    }
    RuleCount& rule = rules_[rule_name(*r)];
    rule.hits++;
    rule.ops[std::string(shown_op(r->before))]++;
    if (r->stage) rule.stages[std::string(r->stage->name)]++;
  }
  return Unit{};
}

void RewriteCounts::add_times(const GoldenRecord& record) {
  bool is_timed = false;
  for (const GoldenStage& s : record.stages) {
    if (s.seconds < 0) continue;
    is_timed = true;
    auto it = std::ranges::find(stage_ms_, s.name, [](auto& stage) { return stage.first; });
    if (it == stage_ms_.end()) it = stage_ms_.insert(it, {s.name, 0});
    it->second += s.seconds * 1000;
  }
  timed_ += is_timed;
  for (const GoldenRule& r : record.rules) {
    RuleTime& time = rule_times_[r.place];
    time.matches += r.matches, time.attempts += r.attempts;
    time.match_ms += r.match_seconds * 1000, time.ms += r.seconds * 1000;
  }
}

// Returns the rules with their times, the slowest first.
auto RewriteCounts::slowest_rules() const -> std::vector<std::pair<std::string, RuleTime>> {
  std::vector<std::pair<std::string, RuleTime>> out(rule_times_.begin(), rule_times_.end());
  std::ranges::stable_sort(out, std::greater(), [](auto& rule) { return rule.second.ms; });
  return out;
}

std::string RewriteCounts::times_text() const {
  // not with a selection, because the times are those of whole records
  if (!selection_.is_empty() || !ops_.empty()) return "";
  if (!timed_) return "not recorded: times of stages; record again, or use --live=PYTHON\n";
  std::string out = "processor time of each stage, without the exporter's own:\n";
  if (timed_ < pipelines_)
    out += "  recorded for " + std::to_string(timed_) + " of " + counted(pipelines_, "record") + "\n";
  for (auto& [name, ms] : stage_ms_) out += formatted("%11.2f ms  ", ms) + name + "\n";
  if (rule_times_.empty()) return out + "not recorded: times of rules; record with --rewrites\n";
  out += "time of each rule, with the rewrites that it makes: matches / attempts -- ms in matches / ms in all:\n";
  for (auto& [place, r] : slowest_rules())
    out += formatted("%6lld / %7lld -- %9.2f / %9.2f ms -- ", static_cast<long long>(r.matches),
                     static_cast<long long>(r.attempts), r.match_ms, r.ms) +
           place + "\n";
  return out;
}

std::map<std::string, size_t> RewriteCounts::hits() const {
  std::map<std::string, size_t> out;
  for (auto& [place, rule] : rules_) out[place] = rule.hits;
  return out;
}

std::string RewriteCounts::text() const {
  std::string out = counted(pipelines_, "record") + ", " + counted(graphs_, "graph") + "\n";
  auto rows = [&](std::string_view what, const std::map<std::string, size_t>& counts) {
    if (counts.empty()) return;
    out.append(what) += '\n';
    for (auto& [name, count] : by_count(counts)) out += count_row(count, name);
  };
  rows("matches of each rule:", hits());
  if (discarded_) out += "not counted: " + counted(discarded_, "rewrite") + " in discarded attempts\n";
  rows("nodes of each op:", nodes_);
  return out + times_text();
}

std::string RewriteCounts::json() const {
  return json_object([&](JsonWriter& json) {
    json.member("records", pipelines_).member("graphs", graphs_);
    if (!lacks_rewrites_) json.member("matches", hits()).member("discarded", discarded_);
    json.member("ops", nodes_);
    if (timed_)
      json.key("stage_ms").object([&] {
        for (auto& [name, ms] : stage_ms_) json.key(name).number(ms, "%.3f");
      });
    if (!rule_times_.empty())
      json.key("rules").object([&] {
        for (auto& [place, r] : slowest_rules())
          json.key(place).object([&] {
            json.member("matches", r.matches).member("attempts", r.attempts);
            json.key("match_ms").number(r.match_ms, "%.3f").key("ms").number(r.ms, "%.3f");
          });
      });
  }) + "\n";
}

std::string RewriteCounts::rules_text() const {
  std::vector<std::vector<std::string>> cells{{"hits", "rule", "rewritten ops", "stages"}};
  for (auto& [place, count] : by_count(hits())) {
    const RuleCount& rule = rules_.at(place);
    cells.push_back({std::to_string(count), place, names_by_count(rule.ops), names_by_count(rule.stages)});
  }
  return counted(rules_.size(), "rule") + " of " + counted(pipelines_, "record") + "\n" + table(cells, "r");
}

std::string RewriteCounts::rules_json() const {
  return json_object([&](JsonWriter& json) {
    json.member("records", pipelines_).key("rules").array([&] {
      for (auto& [place, count] : by_count(hits()))
        json.line().object([&] {
          const RuleCount& rule = rules_.at(place);
          json.member("rule", place).member("hits", count).member("ops", rule.ops).member("stages", rule.stages);
        });
    });
  }) + "\n";
}

}  // namespace tgc
