// tgc trace [INPUT]: every rewrite of the chosen stages.
#include <CLI/CLI.hpp>
#include <set>

#include "apps/tgc/commands.h"
#include "apps/tgc/options.h"
#include "apps/tgc/terminal.h"
#include "lib/driver/failure_collector.h"
#include "lib/recordings/foreign_recordings.h"
#include "lib/rules/rule_catalog.h"
#include "lib/trace/explain.h"
#include "lib/trace/trace_file.h"
#include "lib/trace/trace_print.h"
#include "lib/trace/watchers.h"

namespace tgc {
namespace {

struct TraceOptions {
  std::string input = "-", kernel, stage, rule, op, node, explain, output;
  bool nested = false, quiet = false, replay = false;
  size_t max_lines = 12;
  Overrides over;
};

class Tracer {
 public:
  explicit Tracer(const TraceOptions& options) : o_(options), session_(terminal_session(options.over)) {}

  int run() {
    if (auto status = prepare(); !status) return trouble(status.diag());
    if (!o_.explain.empty()) return finish(explain());
    if (o_.replay) return replay();
    if (o_.output.empty()) {
      TracePrinter printer(filter_, {.color = use_color(1), .max_lines = o_.max_lines, .quiet = o_.quiet}, print);
      auto status = feed(printer);
      return finish(status ? printer.outcome() : status);
    }
    auto writer = TraceWriter::create(o_.output);
    if (!writer) return trouble(writer.diag());
    auto status = feed(**writer);
    return finish(status ? (*writer)->close() : status);
  }

 private:
  int finish(const Status& status) const { return status ? int(refusals_.failed()) : trouble(status.diag()); }

  Status prepare() {
    auto choices =
        choices_of_rows([](const StageRow& row) { return has_rewrites(row) && (!row.output || row.is(OutputKind::List)); });
    choices.push_back({"all", "", "", false});
    const bool elsewhere = !(o_.stage + o_.rule).empty() && !foreign_producer(o_.input).empty();  // names of its own
    if (elsewhere && !o_.stage.empty()) stages_.insert(o_.stage);
    if (!elsewhere && !o_.stage.empty()) {
      auto selected = select_stages(o_.stage, choices);
      if (!selected) return selected.diag();
      stages_.insert(selected->begin(), selected->end());
    }
    filter_.rule = o_.rule, filter_.nested = o_.nested;
    if (!elsewhere && !is_trace_file(o_.input))
      if (auto status = check_names_a_rule(filter_); !status) return status;
    if (!o_.op.empty()) {
      auto op = op_of_word(o_.op);
      if (!op) return op.diag();
      filter_.ops.add(*op);
    }
    if (!o_.node.empty()) {
      auto n = number_after(o_.node, '#');
      if (!n) return Diag{.message = "'" + o_.node + "' is no node", .expected = "#N, as the trace shows it"};
      filter_.node = *n;
    }
    return Unit{};
  }

  bool wants(std::string_view stage) const {
    return stages_.empty() || stages_.contains(stage) || stages_.contains("all");
  }

  // The events of the stages that are wanted, from the pipeline or from a file.
  Status feed(TraceConsumer& to) {
    StageFilter chosen([this](std::string_view stage) { return wants(stage); }, to);
    return feed_all(chosen);
  }
  Status feed_all(TraceConsumer& to) {
    if (is_trace_file(o_.input)) return read_trace(o_.input, to);
    TraceWatcher watcher(to);
    return refusals_.for_each(o_.input, o_.kernel, [&](InputGraph graph) -> Status {
      if (graph.graph->is_foreign()) return trace_recorded_rewrites(graph, to);
      auto compilation = session_.begin(std::move(graph));
      return compilation ? run_watched(std::move(*compilation), watcher) : Status(compilation.diag());
    });
  }

  int replay() {
    TraceReplay replay;
    if (auto status = feed(replay); !status) return trouble(status.diag());
    print(replay.text());
    return replay.different() || refusals_.failed() ? 1 : 0;
  }

  Status explain() {
    auto n = number_after(o_.explain, o_.explain.starts_with('c') ? 'c' : '%');
    const char* expected = "%N or cN: the node that pyrender of the stage's graph names cN";
    if (!n) return Diag{.message = "'" + o_.explain + "' is no node", .expected = expected};
    if (stages_.size() > 1)
      return Diag{.message = "--explain takes a node of one stage, not of " + std::to_string(stages_.size())};
    Explainer explainer(*n, stages_.empty() ? "" : std::string(*stages_.begin()), use_color(1), print_report);
    auto status = feed_all(explainer);
    return status ? explainer.outcome() : status;
  }

  const TraceOptions& o_;
  Session session_;
  FailureCollector refusals_{session_};
  TraceFilter filter_;
  std::set<std::string_view> stages_;
};

}  // namespace

void add_trace(CLI::App& app, int& exit_code) {
  auto o = std::make_shared<TraceOptions>();
  CLI::App* cmd = app.add_subcommand(
      "trace", "every rewrite of the chosen stages: rule, where it is written, the node before and after, time");
  cmd->add_option("INPUT", o->input,
                  "a file of any kind, FILE#ID for one id, or a trace that -o wrote; default: standard input");
  cmd->add_option("--stage", o->stage, "the stages to trace; default: all")->type_name("LIST");
  cmd->add_option("--rule", o->rule, "only rewrites by that rule: its name (`*`: anything), or a part of its file:line")
      ->type_name("RULE");
  cmd->add_option("--op", o->op, "only rewrites of nodes of that op")->type_name("OP");
  cmd->add_option("--node", o->node, "only rewrites that node #N takes part in, or was made by")->type_name("#N");
  cmd->add_flag("--nested", o->nested, "rewrites inside rules too (what simplify() does)");
  cmd->add_flag("-q,--quiet", o->quiet, "a line a rewrite, without the nodes");
  cmd->add_option("--max-lines", o->max_lines, "at most N nodes that went and N that came; default: 12")
      ->type_name("N")->check(whole_number(0, kMostShown));
  cmd->add_option("--explain", o->explain,
                  "instead: where node %N (pyrender's cN) of the result of --stage (default: the last one) comes "
                  "from, back to the AST, and what becomes of it")
      ->type_name("%N");
  cmd->add_flag("--replay", o->replay,
                "instead: apply the rewrites that are listed to each rewrite's input: they must give its result");
  cmd->add_option("-o,--output", o->output, "write a trace file, which this command reads back; gzip if named .gz")
      ->type_name("FILE");
  add_kernel_option(*cmd, o->kernel);
  add_pipeline_options(*cmd, o->over);
  cmd->footer("Exit codes: 0; 1 a stage refused one of several graphs, or --replay made something else; 2 trouble.");
  cmd->callback([o, &exit_code] { exit_code = Tracer(*o).run(); });
}

}  // namespace tgc
