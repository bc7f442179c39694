#include "lib/trace/rewrite_counts.h"

#include "lib/support/count_rows.h"
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
  return out;
}

std::string RewriteCounts::json() const {
  return json_object([&](JsonWriter& json) {
    json.member("records", pipelines_).member("graphs", graphs_);
    if (!lacks_rewrites_) json.member("matches", hits()).member("discarded", discarded_);
    json.member("ops", nodes_);
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
