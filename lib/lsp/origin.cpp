#include "lib/lsp/origin.h"

#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <filesystem>

#include "lib/compilation/pipeline.h"
#include "lib/contain/contain.h"
#include "lib/driver/source.h"
#include "lib/lsp/answers.h"
#include "lib/lsp/rule_source.h"
#include "lib/support/lines.h"
#include "lib/trace/provenance.h"
#include "lib/uop/release.h"

namespace tgc {
namespace {

// Answers at the kernel's end, before the graph is freed.
class OriginConsumer : public NodeProvenance {
 public:
  explicit OriginConsumer(const OriginQuestion& question) : question_(question) {}
  void end_kernel() override { find_rule(); }
  void abandon_kernel() override { find_rule(); }
  std::string answer_text() const { return text_ + rule_locations_; }

 private:
  void find_rule() {
    for (std::string_view stage : stage_names()) {
      if (stage != question_.stage || !stage_result_of(stage)) continue;
      const auto nodes = toposort(stage_result_of(stage));
      if (nodes.size() != question_.num_nodes || question_.position >= nodes.size()) return;
      const UOp node = nodes[question_.position];
      if (printed_op_name(node) != question_.op) return;  // the graph that was traced differs from the recorded graph
      bool is_from_ast = false;
      const std::vector<TraceStep> steps = steps_from_ast(node, stage, is_from_ast);
      for (auto s = steps.rbegin(); s != steps.rend(); ++s)
        if (!s->rule.name.empty()) return describe_rule(*s, s == steps.rbegin());
      if (is_from_ast) text_ = std::string("no rule: it is in the AST") + (steps.empty() ? "" : ", with other sources");
    }
  }

  void describe_rule(const TraceStep& step, bool is_last) {
    const TraceRule& rule = step.rule;
    const std::string place = std::string(rule.file) + ":" + std::to_string(rule.line);
    text_ = code_span(name_with_branch(rule));
    if (const std::string both = locations_of_rule(rule); both != rule.name) text_ += " " + code_span(both);
    for (const std::string& p : {std::string(rule.source), place}) {
      const RuleLocation parsed = parse_rule_location(p);
      if (parsed.file.empty()) continue;
      rule_locations_ += "\n" + p;
      const std::string address = rule_web_address(parsed, question_.producer);
      if (!address.empty()) text_ += " ([source](" + address + "))";
    }
    text_ += " in '" + escape_markdown(step.stage) + "'";
    if (step.kind == TraceStep::Kind::Part) text_ += ", as a part";
    if (!is_last) text_ += ", later with other sources";
  }

  const OriginQuestion& question_;
  std::string rule_locations_, text_;
};

Result<std::string> trace_origin(const std::string& file, const OriginQuestion& question) {
  const Session session;
  auto source = GraphSource::open(session, file);
  if (!source) return source.diag();
  auto in = source->next_graph();
  if (!in || !*in) return in ? Diag{"no record"} : in.diag();
  OriginConsumer consumer(question);
  auto pipeline = session.pipeline(std::move(**in));
  if (!pipeline) return pipeline.diag();
  StageSelection every;
  (void)(*pipeline)->trace_stages(consumer, every);  // ignore errors: a stage after that of the node may fail
  return consumer.answer_text();
}

}  // namespace

OriginAnswer find_origin(const std::string& file, const OriginQuestion& question, double seconds) {
  auto body = [&](Worker&) { return catch_failures([&] { return trace_origin(file, question).value_or_throw(); }); };
  auto found = run_in_sandbox(body, {.timeout_seconds = seconds});
  if (!found) return {};
  std::vector<std::string> lines;
  for (std::string_view line : lines_of(*found)) lines.emplace_back(line);
  if (lines.empty()) return {};
  return {lines[0], {lines.begin() + 1, lines.end()}};
}

OriginFinder::OriginFinder() : ready_pipe_(std::make_shared<Pipe>()) {
  for (int fd : {ready_pipe_->read_end(), ready_pipe_->write_end()}) ::fcntl(fd, F_SETFL, O_NONBLOCK);
}

void OriginFinder::drain_ready_pipe() {
  char ignored[64];
  while (::read(ready_pipe_->read_end(), ignored, sizeof ignored) > 0) {}
}

std::optional<std::shared_future<OriginAnswer>> OriginFinder::find_answer(const std::string& section,
                                                                          const OriginQuestion& question,
                                                                          const std::function<std::string()>& write) {
  constexpr size_t kMostRunning = 2, kMostKept = 1000;
  constexpr double kSeconds = 5;
  auto known = std::ranges::find_if(node_origins_, [&](const NodeOrigin& o) {
    return o.section == section && o.position == question.position;
  });
  if (known == node_origins_.end()) {
    if (node_origins_.size() > kMostKept)
      std::erase_if(node_origins_, [](const NodeOrigin& o) { return is_ready(o.answer); });
    const auto running = std::ranges::count_if(node_origins_, [](const NodeOrigin& o) { return !is_ready(o.answer); });
    if (size_t(running) >= kMostRunning) return std::nullopt;
    std::promise<OriginAnswer> promise;
    auto answer = promise.get_future().share();
    std::jthread thread([file = write(), question, ready = ready_pipe_, promise = std::move(promise)]() mutable {
      promise.set_value(find_origin(file, question, kSeconds));
      std::error_code ignored;
      std::filesystem::remove(file, ignored);
      (void)!::write(ready->write_end(), "", 1);
    });
    node_origins_.push_back({section, question.position, answer, std::move(thread)});
    known = node_origins_.end() - 1;
  }
  constexpr std::chrono::milliseconds kSoon(20);
  known->answer.wait_for(kSoon);
  return known->answer;
}

}  // namespace tgc
