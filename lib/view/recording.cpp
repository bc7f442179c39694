#include "lib/view/recording.h"

#include "lib/compilation/watchers.h"
#include "lib/rewrite/rules.h"
#include "lib/view/recording_writer.h"

namespace tgc {

using Clock = std::chrono::steady_clock;

namespace {

constexpr size_t kMaxRuleText = 600;  // maximum length of a rule's text, in bytes

// Returns both sides of a rule, "(x + 0) -> x", and the number of other rules of its line; "" if tgc lacks the rule.
std::string text_of_rule(const TraceRule& r) {
  std::string out;
  size_t alike = 0;
  for (uint32_t id = 0; id < num_rules(); id++) {
    const Rule* rule = rule_of_id(id);
    if (!rule || rule->line != r.line || rule->name != r.name || short_file_name(*rule) != r.file) continue;
    if (alike++ == 0) out = pat::pattern_text(*rule->left) + " -> " + right_side_text(*rule);
  }
  if (out.size() > kMaxRuleText) out = out.substr(0, kMaxRuleText) + "...";
  return out + (alike > 1 ? ", and " + std::to_string(alike - 1) + " alike" : "");
}

}  // namespace

void GraphRecorder::begin_kernel(std::string_view id, std::string_view target, UOp ast) {
  graph_ = {}, ast_ = {}, events_ = {}, stage_events_ = {}, string_numbers_ = {}, rules_ = {}, rule_numbers_ = {};
  graph_.name = id, graph_.target = target;
  graph_.is_tensor_graph = target.empty() && looks_like_tensor_graph(ast);  // a kernel from a dump may lack a target
  ast_ = ast;
  number_of_string("");
}

void GraphRecorder::begin_stage(std::string_view name, UOp input) {
  stage_events_.push_back({.name = std::string(name), .input = input, .result = {}, .first_event = events_.size(),
                     .end_event = events_.size()});
  begin_time_ = Clock::now();
}

void GraphRecorder::end_stage(UOp result) {
  StageEvents& s = stage_events_.back();
  s.wall_ms = std::chrono::duration<double, std::milli>(Clock::now() - begin_time_).count();
  s.result = result, s.end_event = events_.size();
  graph_.wall_ms += s.wall_ms;
}

void GraphRecorder::begin_rewrite(const TraceRewrite& r, int, UOp input) {
  events_.push_back({Event::Kind::Begin,
                     input,
                     UOp(),
                     {number_of_string(r.name), number_of_string(r.rule_set), int64_t(r.num_rules), r.bottom_up}});
}

void GraphRecorder::end_rewrite(int, UOp result) { events_.push_back({Event::Kind::End, result, UOp()}); }

void GraphRecorder::on_rule_applied(int, const TraceRule& r, UOp before, UOp after, TraceCost cost) {
  auto key = std::string(r.file) + ":" + std::to_string(r.line) + " " + name_with_branch(r) + " ";
  key += r.source;
  auto [at, is_new] = rule_numbers_.try_emplace(std::move(key), rules_.size());
  if (is_new)
    rules_.push_back({number_of_string(r.name), number_of_string(r.branch), number_of_string(r.file), r.line,
                      number_of_string(r.source), number_of_string(text_of_rule(r))});
  events_.push_back({Event::Kind::Rewrite, before, after,
                     {int64_t(at->second), cost.first_made_node_number, cost.end_made_node_number}});
  if (!is_discarded(r)) graph_.num_rewrites++;
  else if (!stage_events_.empty()) stage_events_.back().num_discarded++;
}

void GraphRecorder::on_node_rebuilt(int, UOp before, UOp after) {
  events_.push_back({Event::Kind::Rebuilt, before, after});
}

void GraphRecorder::on_node_gated(int, UOp node) { events_.push_back({Event::Kind::Gated, node, UOp()}); }

RecordedGraph GraphRecorder::finish_graph(Compilation* of, const TextOptions& texts, const std::string& error) {
  graph_.error = error;
  graph_.num_stages = stage_events_.size();
  if (!of) {  // the times are not those of a compilation
    graph_.wall_ms = 0;
    for (StageEvents& s : stage_events_) s.wall_ms = 0;
  }
  if (!stage_events_.empty() && !stage_events_.back().result) stage_events_.back().end_event = events_.size();
  RecordingWriter writer(*this, of, texts);
  graph_.data_json = writer.write_graph(), graph_.events_json = writer.events_json();
  return std::move(graph_);
}

// Returns the error's text without the folders of its file, because pages are shared with other people.
static std::string without_folders(Diag diag) {
  diag.file.erase(0, diag.file.find_last_of('/') + 1);
  return diag.text();
}

RecordedGraph record_compilation(Compilation& compilation, const TextOptions& texts) {
  GraphRecorder recorder;
  TraceObserver stage_observer(recorder);
  ScopedObserver watched(compilation, stage_observer);
  std::string error;
  if (compilation.is_tensor_graph()) {
    if (auto& schedule = compilation.schedule(); !schedule) error = without_folders(schedule.diag());
  } else if (auto status = compilation.run_through_stage(get_stage_row(OutputKind::List)); !status) {
    error = without_folders(status.diag());
  }
  const StageRow* begun = find_stage_row(compilation.input_graph().info.stage);
  if (!compilation.input_graph().list.empty()) recorder.set_begin_stage("linear");
  else if (begun && begun->kind != StageRow::Kind::Ast) recorder.set_begin_stage(begun->name);
  RecordedGraph out = recorder.finish_graph(&compilation, texts, error);
  compilation.set_stage_observer(nullptr);
  return out;
}

}  // namespace tgc
