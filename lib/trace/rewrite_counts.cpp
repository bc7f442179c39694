#include "lib/trace/rewrite_counts.h"

#include <algorithm>

#include "lib/support/counted.h"
#include "lib/support/json_writer.h"
#include "lib/support/table.h"

namespace tgc {
namespace {

std::string names_by_count(const std::map<std::string, size_t>& counts) {
  std::string out;
  for (auto& [name, count] : sorted_by_count(counts)) out += (out.empty() ? "" : ", ") + name;
  return out;
}

}  // namespace

Status RewriteCounts::add_pipeline(Pipeline& pipeline) {
  auto graphs = pipeline.graphs(stage_selection_);
  if (!graphs) return graphs.diag();
  num_pipelines_++, num_graphs_ += graphs->size();
  if (pipeline.input().record && stage_selection_.is_empty() && ops_.empty()) add_rule_times(*pipeline.input().record);
  for (UOp root : *graphs)
    for (UOp u : toposort(root))
      if (is_counted(u)) nodes_by_op_[std::string(printed_op_name(u))]++;
  if (!pipeline.has_ability(Ability::Rewrites)) {
    has_no_rewrites_ = true;
    return Unit{};
  }
  auto rewrites = pipeline.rewrites(stage_selection_);
  if (!rewrites) return rewrites.diag();
  for (const Rewrite* r : *rewrites) {
    if (!is_counted(r->before)) continue;
    if (r->is_discarded) {
      num_discarded_++;
      continue;
    }
    RuleCount& rule = rule_counts_[rule_name(*r)];
    rule.num_hits++;
    rule.hits_by_op[std::string(printed_op_name(r->before))]++;
    if (r->stage) rule.hits_by_stage[std::string(r->stage->name)]++;
  }
  return Unit{};
}

void RewriteCounts::add_rule_times(const GoldenRecord& record) {
  bool is_timed = false;
  for (const GoldenStage& s : record.stages) {
    if (s.stage_seconds < 0) continue;
    is_timed = true;
    auto it = std::ranges::find(stage_ms_, s.name, [](auto& stage) { return stage.first; });
    if (it == stage_ms_.end()) it = stage_ms_.insert(it, {s.name, 0});
    it->second += s.stage_seconds * 1000;
  }
  num_timed_pipelines_ += is_timed;
  for (const GoldenRuleTimes& r : record.rule_times) {
    RuleTime& time = rule_times_[r.place];
    time.num_matches += r.num_matches, time.num_attempts += r.num_attempts;
    time.match_ms += r.match_seconds * 1000, time.total_ms += r.attempt_seconds * 1000;
  }
}

auto RewriteCounts::slowest_rules() const -> std::vector<std::pair<std::string, RuleTime>> {
  std::vector<std::pair<std::string, RuleTime>> out(rule_times_.begin(), rule_times_.end());
  std::ranges::stable_sort(out, std::greater(), [](auto& rule) { return rule.second.total_ms; });
  return out;
}

std::string RewriteCounts::rule_times_text() const {
  // the times are those of whole records
  if (!stage_selection_.is_empty() || !ops_.empty()) return "";
  if (!num_timed_pipelines_) return "not recorded: times of stages; record again, or use --live=PYTHON\n";
  std::string out = "processor time of each stage, without the exporter's own:\n";
  if (num_timed_pipelines_ < num_pipelines_)
    out +=
        "  recorded for " + std::to_string(num_timed_pipelines_) + " of " + count_text(num_pipelines_, "record") + "\n";
  for (auto& [name, ms] : stage_ms_) out += formatted("%11.2f ms  ", ms) + name + "\n";
  if (rule_times_.empty()) return out + "not recorded: times of rules; record with --rewrites\n";
  out += "time of each rule, with the rewrites that it makes: matches / attempts -- ms in matches / ms in all:\n";
  for (auto& [place, r] : slowest_rules())
    out += formatted("%6lld / %7lld -- %9.2f / %9.2f ms -- ", static_cast<long long>(r.num_matches),
                     static_cast<long long>(r.num_attempts), r.match_ms, r.total_ms) +
           place + "\n";
  return out;
}

std::map<std::string, size_t> RewriteCounts::num_hits() const {
  std::map<std::string, size_t> out;
  for (auto& [place, rule] : rule_counts_) out[place] = rule.num_hits;
  return out;
}

std::string RewriteCounts::text() const {
  std::string out = count_text(num_pipelines_, "record") + ", " + count_text(num_graphs_, "graph") + "\n";
  auto rows = [&](std::string_view what, const std::map<std::string, size_t>& counts) {
    if (counts.empty()) return;
    out.append(what) += '\n';
    for (auto& [name, count] : sorted_by_count(counts)) out += count_row_text(count, name);
  };
  rows("matches of each rule:", num_hits());
  if (num_discarded_) out += "not counted: " + count_text(num_discarded_, "rewrite") + " in discarded attempts\n";
  rows("nodes of each op:", nodes_by_op_);
  return out + rule_times_text();
}

std::string RewriteCounts::json() const {
  return json_object([&](JsonWriter& json) {
    json.member("records", num_pipelines_).member("graphs", num_graphs_);
    if (!has_no_rewrites_) json.member("matches", num_hits()).member("discarded", num_discarded_);
    json.member("ops", nodes_by_op_);
    if (num_timed_pipelines_)
      json.key("stage_ms").object([&] {
        for (auto& [name, ms] : stage_ms_) json.key(name).number(ms, "%.3f");
      });
    if (!rule_times_.empty())
      json.key("rules").object([&] {
        for (auto& [place, r] : slowest_rules())
          json.key(place).object([&] {
            json.member("matches", r.num_matches).member("attempts", r.num_attempts);
            json.key("match_ms").number(r.match_ms, "%.3f").key("ms").number(r.total_ms, "%.3f");
          });
      });
  }) + "\n";
}

std::string RewriteCounts::rules_text() const {
  std::vector<std::vector<std::string>> cells{{"hits", "rule", "rewritten ops", "stages"}};
  for (auto& [place, count] : sorted_by_count(num_hits())) {
    const RuleCount& rule = rule_counts_.at(place);
    cells.push_back(
        {std::to_string(count), place, names_by_count(rule.hits_by_op), names_by_count(rule.hits_by_stage)});
  }
  return count_text(rule_counts_.size(), "rule") + " of " + count_text(num_pipelines_, "record") + "\n" +
         table_text(cells, "r");
}

std::string RewriteCounts::rules_json() const {
  return json_object([&](JsonWriter& json) {
    json.member("records", num_pipelines_).key("rules").array([&] {
      for (auto& [place, count] : sorted_by_count(num_hits()))
        json.start_line().object([&] {
          const RuleCount& rule = rule_counts_.at(place);
          json.member("rule", place)
              .member("hits", count)
              .member("ops", rule.hits_by_op)
              .member("stages", rule.hits_by_stage);
        });
    });
  }) + "\n";
}

}  // namespace tgc
