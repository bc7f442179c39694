// tgc trace [INPUT]: every rewrite of the chosen stages.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "apps/tgc/commands.h"
#include "apps/tgc/pipeline_walk.h"
#include "lib/compilation/selection.h"
#include "apps/tgc/terminal.h"
#include "lib/inspect/provenance.h"
#include "lib/inspect/trace_file.h"
#include "lib/inspect/trace_print.h"
#include "renderers/renderer.h"

namespace tgc {
namespace {

struct TraceOptions {
  std::string input = "-", kernel, stage, rule, op, node, explain, output;
  bool nested = false, quiet = false, replay = false;
  size_t max_lines = 12;
  PipelineOptions pipeline;
};

// Tells a consumer what a walk through the pipeline meets.
class WalkTrace : public PipelineWatcher {
 public:
  explicit WalkTrace(TraceConsumer& to) : to_(to) {}
  void graph(const std::string& name, std::string_view target, UOp root) override {
    to_.kernel(name, target, root);
    live_.emplace(root.graph(), to_);
    live_->on = false;
  }
  void stage(std::string_view name, UOp input) override {
    to_.stage(name, input);
    live_->on = true;
  }
  Status stage_end(std::string_view, UOp result) override {
    live_->on = false;
    to_.stage_end(result);
    return Unit{};
  }
  void graph_end() override {
    to_.kernel_end();
    live_.reset();
  }

 private:
  TraceConsumer& to_;
  std::optional<LiveTrace> live_;
};

// Tells the story of one node of each kernel, when all of its events are known.
class Explainer : public Provenance {
 public:
  Explainer(uint32_t node, std::string stage, bool color) : node_(node), stage_(std::move(stage)), color_(color) {}
  void kernel(std::string_view id, std::string_view target, UOp ast) override {
    Provenance::kernel(id, target, ast);
    target_ = target;
  }
  void kernel_end() override {
    std::string stage = stage_.empty() && !stages().empty() ? std::string(last_graph()) : stage_ == "ast" ? "" : stage_;
    UOp root = result_of(stage);
    if (!root) return;
    auto nodes = toposort(root);
    found_ = true;
    if (node_ >= nodes.size()) {
      too_far_ = "'" + (stage.empty() ? std::string("ast") : stage) + "' has nodes %0 to %" + std::to_string(nodes.size() - 1);
      return;
    }
    print(to_text(*this, nodes[node_], stage, color_));
    UOp last;
    (void)forward(nodes[node_], stage, last);
    if (last) print(in_the_end(last));
  }
  bool found() const { return found_; }
  const std::string& too_far() const { return too_far_; }

 private:
  // The node's place in the linear list, and in the source.
  std::string in_the_end(UOp last) {
    auto target = parse_target(target_, last.graph().settings());
    if (target_.empty() || !target || last_graph() != kernel_stages().back().name) return "";  // a tensor graph, or a part of the stages
    KernelJob job{last.graph(), *target};
    auto list = linear_list(job, result_of(last_graph()));
    if (!list) return list.diag().text() + "\n";
    size_t at = size_t(std::find(list->begin(), list->end(), last) - list->begin());
    if (at == list->size()) return "in the linear list\n    it is not there\n";
    std::string out = "in the linear list\n    line " + std::to_string(at + 1) + " of " + std::to_string(list->size()) + "\nin the source\n";
    auto map = source_map(*target, *list);
    if (!map) return out + "    " + map.diag().text() + "\n";
    size_t user = at;
    while (user < list->size() && !map->of_node[user].count) user = next_user(*list, user);
    if (user == list->size()) return out + "    no line of its own, nor of what uses it\n";
    SourceLines lines = map->of_node[user];
    if (user != at) out += "    inside the line of what uses it\n";
    for (size_t i = 0; i < lines.count; i++) out += "    line " + std::to_string(lines.first + i) + ": " + map->lines[lines.first + i - 1] + "\n";
    return out;
  }
  // The first node of the list that has node number `of` among its sources.
  static size_t next_user(const std::vector<UOp>& list, size_t of) {
    for (size_t i = of + 1; i < list.size(); i++)
      for (UOp s : list[i].src())
        if (s == list[of]) return i;
    return list.size();
  }

  std::string_view last_graph() const { return stages().back() == "linear" && stages().size() > 1 ? stages()[stages().size() - 2] : stages().back(); }
  uint32_t node_;
  std::string stage_;
  std::string target_;
  bool color_, found_ = false;
  std::string too_far_;
};

std::optional<uint32_t> number_after(std::string_view text, char mark) {
  if (!text.empty() && text[0] == mark) text.remove_prefix(1);
  uint32_t n = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  return error == std::errc() && end == text.data() + text.size() && !text.empty() ? std::optional(n) : std::nullopt;
}

class Tracer {
 public:
  explicit Tracer(const TraceOptions& options) : o_(options) {}

  int run() {
    if (auto status = prepare(); !status) return trouble(status.diag());
    if (!o_.explain.empty()) return explain();
    if (o_.replay) {
      TraceReplay replay;
      if (auto status = feed(replay); !status) return trouble(status.diag());
      print(std::to_string(replay.same() + replay.different()) + " graph rewrites replayed from their lists of rewrites, " + std::to_string(replay.same()) +
            " give the same graph\n");
      return replay.different() ? 1 : 0;
    }
    TracePrinter printer(filter_, {.color = use_color(1), .max_lines = o_.max_lines, .quiet = o_.quiet}, [](std::string_view text) { print(text); });
    if (o_.output.empty()) return finish(feed(printer));
    auto writer = TraceWriter::create(o_.output);
    if (!writer) return trouble(writer.diag());
    if (auto status = feed(**writer); !status) return trouble(status.diag());
    return finish((*writer)->close());
  }

 private:
  static int finish(const Status& status) { return status ? 0 : trouble(status.diag()); }

  Status prepare() {
    std::vector<Choice> choices{{"ast", "", "", false}};
    add_stages(choices, tensor_stages());
    add_stages(choices, kernel_stages());
    choices.push_back({"linear", "linearize", ""});
    choices.push_back({"all", "", "", false});
    if (!o_.stage.empty()) {
      auto selected = select_stages(o_.stage, choices);
      if (!selected) return selected.diag();
      stages_.insert(selected->begin(), selected->end());
    }
    filter_.rule = o_.rule, filter_.nested = o_.nested;
    if (!o_.op.empty()) {
      auto op = op_of_word(o_.op);
      if (!op) return Diag{.message = "unknown op '" + o_.op + "'", .expected = "an op of tinygrad 0.12.0"};
      filter_.ops.add(*op);
    }
    if (!o_.node.empty()) {
      auto n = number_after(o_.node, '#');
      if (!n) return Diag{.message = "'" + o_.node + "' is no node", .expected = "#N, as the trace shows it"};
      filter_.node = *n;
    }
    return Unit{};
  }

  bool wants(std::string_view stage) const { return stages_.empty() || stages_.contains(stage) || stages_.contains("all"); }

  // The events of the stages that are wanted, from the pipeline or from a file.
  Status feed(TraceConsumer& to) {
    StageFilter chosen([this](std::string_view stage) { return wants(stage); }, to);
    return feed_all(chosen);
  }
  Status feed_all(TraceConsumer& to) {
    if (is_trace_file(o_.input)) return read_trace(o_.input, to);
    auto input = Input::open(o_.input, o_.kernel, o_.pipeline);
    if (!input) return input.diag();
    for (;;) {
      auto graph = input->next();
      if (!graph) return graph.diag();
      if (!*graph) return Unit{};
      WalkTrace walk(to);
      if (auto status = walk_pipeline(**graph, o_.pipeline, walk); !status) return status;
    }
  }

  int explain() {
    auto n = number_after(o_.explain, '%');
    if (!n) return trouble({.message = "'" + o_.explain + "' is no node", .expected = "%N: the N-th node of the stage's graph, in pyrender's order"});
    if (stages_.size() > 1) return trouble({.message = "--explain takes a node of one stage, not of " + std::to_string(stages_.size())});
    Explainer explainer(*n, stages_.empty() ? "" : std::string(*stages_.begin()), use_color(1));
    if (auto status = feed_all(explainer); !status) return trouble(status.diag());
    if (!explainer.too_far().empty()) return trouble({.message = "there is no node " + o_.explain, .expected = explainer.too_far()});
    if (!explainer.found()) return trouble({.message = "the stage was not run"});
    return 0;
  }

  const TraceOptions& o_;
  TraceFilter filter_;
  std::set<std::string_view> stages_;
};

}  // namespace

void add_trace(CLI::App& app, int& exit_code) {
  auto o = std::make_shared<TraceOptions>();
  CLI::App* cmd = app.add_subcommand("trace", "every rewrite of the chosen stages: rule, where it is written, the node before and after, time");
  cmd->add_option("INPUT", o->input, "a file of any kind, FILE#ID for one record, or a trace that -o wrote; default: standard input");
  cmd->add_option("--stage", o->stage, "the stages to trace; default: all")->type_name("LIST");
  cmd->add_option("--rule", o->rule, "only rewrites by that rule: its name, `*` standing for anything, or a part of its file:line")->type_name("RULE");
  cmd->add_option("--op", o->op, "only rewrites of nodes of that op")->type_name("OP");
  cmd->add_option("--node", o->node, "only rewrites that node #N takes part in, or was made by")->type_name("#N");
  cmd->add_flag("--nested", o->nested, "rewrites inside rules too (what simplify() does)");
  cmd->add_flag("-q,--quiet", o->quiet, "a line a rewrite, without the nodes");
  cmd->add_option("--max-lines", o->max_lines, "at most N nodes that went and N that came; default: 12")->type_name("N");
  cmd->add_option("--explain", o->explain,
                  "instead: where node %N of the result of --stage (default: the last one) comes from, back to the AST, and what becomes of it")
      ->type_name("%N");
  cmd->add_flag("--replay", o->replay, "instead: apply the rewrites that are listed to each rewrite's input, and see that they give its result");
  cmd->add_option("-o,--output", o->output, "write a trace file, which this command reads back; gzip when the name ends with .gz")->type_name("FILE");
  cmd->add_option("--kernel", o->kernel, "one of many: its number from 0, or its name")->type_name("N|NAME");
  o->pipeline.add_to(*cmd);
  cmd->callback([o, &exit_code] { exit_code = Tracer(*o).run(); });
}

}  // namespace tgc
