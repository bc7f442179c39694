#include "lib/recordings/recorded_counts.h"

#include "lib/recordings/count_rows.h"
#include "lib/support/counted.h"
#include "lib/support/json_writer.h"
#include "lib/support/table.h"
#include "lib/text/recorded_rewrites.h"

namespace tgc {
namespace {

// Returns the names of `counts`, the largest count first.
std::string names_by_count(const std::map<std::string, size_t>& counts) {
  std::string out;
  for (auto& [name, count] : by_count(counts)) out += (out.empty() ? "" : ", ") + name;
  return out;
}

}  // namespace

Diag no_rewrites(const std::string& file) {
  return {.message = "the recording has no rewrites", .file = file, .expected = "one of tinygrad_export.py --rewrites"};
}

Status RecordedCounts::add(const InputGraph& in) {
  const RecordedStages recorded = recorded_stages_of(in);
  auto wanted = selection_.is_empty() ? Result(std::vector<bool>(recorded.size(), true)) : selection_.of(recorded);
  if (!wanted) return wanted.diag();
  records_++;
  std::vector<std::pair<std::string_view, bool>> stages;  // the name of each stage, and whether it is wanted
  for (size_t i = 0; i < recorded.size(); i++) {
    const RecordedStage& s = recorded[i];
    if (s.kind == RecordedStage::Kind::Stage) stages.emplace_back(s.name, (*wanted)[i]);
    if (!(*wanted)[i] || !s.is_graph() || !s.text || s.same) continue;
    Graph graph;
    ReadReport report{.take_malformed = true, .producer = in.info.producer};
    auto read = read_graph(graph, detect_kind(*s.text), *s.text, in.file, &report);
    if (!read) return read.diag();
    graphs_++;
    for (UOp u : read->list.empty() ? toposort(read->root) : read->list)
      if (counts(u)) nodes_[std::string(shown_op(u))]++;
  }
  if (!in.record || in.record->rewrites.empty()) {
    if (lacks_rewrites_.empty()) lacks_rewrites_ = in.file;
    return Unit{};
  }
  Graph graph;
  auto found = read_rewrites(graph, in.record->rewrites, in.info.producer, in.file);
  if (!found) return found.diag();
  for (const RecordedMatch& m : *found) {
    const bool is_wanted = m.stage < stages.size() ? stages[m.stage].second : selection_.is_empty();
    if (!is_wanted || !counts(m.before)) continue;
    RecordedRule& rule = rules_[m.place];
    rule.hits++;
    rule.ops[std::string(shown_op(m.before))]++;
    if (m.stage < stages.size()) rule.stages[std::string(stages[m.stage].first)]++;
  }
  return Unit{};
}

Status RecordedCounts::outcome(bool needs_rules) const {
  if (auto status = selection_.outcome(); !status) return status;
  return needs_rules && !lacks_rewrites_.empty() ? Status(no_rewrites(lacks_rewrites_)) : Status(Unit{});
}

std::map<std::string, size_t> RecordedCounts::hits() const {
  std::map<std::string, size_t> out;
  for (auto& [place, rule] : rules_) out[place] = rule.hits;
  return out;
}

std::string RecordedCounts::text() const {
  std::string out = counted(records_, "record") + ", " + counted(graphs_, "graph") + "\n";
  auto rows = [&](std::string_view what, const std::map<std::string, size_t>& counts) {
    if (counts.empty()) return;
    out.append(what) += '\n';
    for (auto& [name, count] : by_count(counts)) out += count_row(count, name);
  };
  rows("matches of each rule:", hits());
  rows("nodes of each op:", nodes_);
  return out;
}

std::string RecordedCounts::json() const {
  return json_object([&](JsonWriter& json) {
    json.member("records", records_).member("graphs", graphs_);
    if (lacks_rewrites_.empty()) json.member("matches", hits());
    json.member("ops", nodes_);
  }) + "\n";
}

std::string RecordedCounts::rules_text() const {
  std::vector<std::vector<std::string>> cells{{"hits", "rule", "rewritten ops", "stages"}};
  for (auto& [place, count] : by_count(hits())) {
    const RecordedRule& rule = rules_.at(place);
    cells.push_back({std::to_string(count), place, names_by_count(rule.ops), names_by_count(rule.stages)});
  }
  return counted(rules_.size(), "rule") + " of " + counted(records_, "record") + "\n" + table(cells, "r");
}

std::string RecordedCounts::rules_json() const {
  return json_object([&](JsonWriter& json) {
    json.member("records", records_).key("rules").array([&] {
      for (auto& [place, count] : by_count(hits()))
        json.line().object([&] {
          const RecordedRule& rule = rules_.at(place);
          json.member("rule", place).member("hits", count).member("ops", rule.ops).member("stages", rule.stages);
        });
    });
  }) + "\n";
}

}  // namespace tgc
