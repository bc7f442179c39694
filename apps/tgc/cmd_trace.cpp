// tgc trace: prints every rewrite of the chosen stages.
#include <set>

#include "apps/tgc/options.h"
#include "lib/driver/failure_collector.h"
#include "lib/recordings/foreign_recordings.h"
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
  Overrides over{.live_rewrites = true};
  CLI::App* app;
};

class Tracer {
 public:
  explicit Tracer(const TraceOptions& options) : o_(options), session_(terminal_session(options.over)) {}

  int run() {
    prepare();
    if (o_.replay) return replay();
    if (!o_.explain.empty()) {
      explain();
    } else if (o_.output.empty()) {
      TracePrinter printer(filter_,
                           {.color = use_color(1), .max_lines = o_.max_lines, .quiet = o_.quiet}, print_report);
      require(feed(printer)), require(printer.outcome());
    } else {
      auto writer = require(TraceWriter::create(o_.output));
      require(feed(*writer)), require(writer->close());
    }
    return refusals_.failed();
  }

 private:
  void prepare() {
    auto choices =
        choices_of_rows([](const StageRow& s) { return has_rewrites(s) && (!s.output || s.is(OutputKind::List)); });
    choices.push_back({"all", "", "", false});
    // A recording of another release may name stages and rules that tgc does not have: recorded_ selects its stages.
    const bool is_foreign = !(o_.over.live + foreign_producer(o_.input)).empty();
    if (!o_.stage.empty() && (!is_foreign || !o_.explain.empty())) {
      auto selected = select_stages(o_.stage, choices);
      if (!selected && (is_foreign || is_trace_file(o_.input))) selected = std::vector<std::string_view>{o_.stage};
      for (std::string_view name : require(std::move(selected))) stages_.insert(name);
    }
    filter_.rule = o_.rule, filter_.nested = o_.nested;
    if (!is_foreign && !is_trace_file(o_.input)) require(check_names_a_rule(filter_));
    if (!o_.op.empty()) filter_.ops.add(require(op_of_word(o_.op)));
    if (!o_.node.empty()) filter_.node = node_number(o_.node, '#', "#N, as the trace shows it");
  }

  // Returns N of a text such as "#N", where `mark` is '#'. `expected` says in the error how such a text looks.
  static uint32_t node_number(const std::string& text, char mark, const char* expected) {
    auto n = number_after(text, mark);
    if (!n) throw Failure(Diag{.message = "'" + text + "' is no node", .expected = expected});
    return *n;
  }

  // Sends the events of the chosen stages, from the pipeline or from a trace file.
  Status feed(TraceConsumer& to) {
    const bool all = stages_.empty() || stages_.contains("all");
    auto wants = [=, this](std::string_view name) {
      return all || stages_.contains(name) || stages_.contains(slug_of_stage(name));
    };
    StageFilter chosen(wants, to);
    auto status = feed_all(chosen);
    return status ? recorded_.outcome() : status;
  }
  Status feed_all(TraceConsumer& to) {
    if (is_trace_file(o_.input)) return read_trace(o_.input, to);
    TraceWatcher watcher(to);
    return refusals_.for_each(o_.input, o_.kernel, [&](InputGraph graph) -> Status {
      if (shows_recording(session_, graph)) {
        refuse_options(*o_.app, graph, {"--replay"});
        RecordedSelection every("");
        return trace_recorded_rewrites(graph, o_.explain.empty() ? recorded_ : every, to);
      }
      auto compilation = session_.begin(std::move(graph));
      return compilation ? run_watched(std::move(*compilation), watcher) : Status(compilation.diag());
    });
  }

  int replay() {
    TraceReplay replay;
    require(feed(replay));
    print_report(replay.text());
    return replay.different() || refusals_.failed() ? 1 : 0;
  }

  void explain() {
    std::optional<uint32_t> n;
    if (o_.explain != "all")
      n = node_number(o_.explain, o_.explain.starts_with('c') ? 'c' : '%',
                      "%N or cN, the node that pyrender of the stage's graph names cN, or all");
    if (stages_.size() > 1)
      throw Failure("--explain takes a node of one stage, not of " + std::to_string(stages_.size()));
    Explainer explainer(n, stages_.empty() ? "" : std::string(*stages_.begin()), use_color(1), print_report);
    require(feed_all(explainer)), require(explainer.outcome());
  }

  const TraceOptions& o_;
  Session session_;
  FailureCollector refusals_{session_};
  TraceFilter filter_;
  std::set<std::string_view> stages_;
  RecordedSelection recorded_{o_.stage};
};

}  // namespace

void add_trace(Command& cmd) {
  auto& o = cmd.make<TraceOptions>();
  o.app = cmd.operator->();
  cmd.describe("Print every rewrite: its rule, the nodes before and after, and the time.",
               "tgc trace kernel.uop --stage=symbolic --rule=add-zero",
               "Exit codes: 0, 1 a stage refused one of several graphs, or --replay found a difference, 2 trouble.");
  add_input_options(cmd, o.input, o.kernel, ", or a trace file");
  cmd.option("--stage", o.stage, "LIST", "trace only these stages");
  cmd.option("--rule", o.rule, "RULE", "print only rewrites by this rule: a name with `*`, or a part of FILE:LINE");
  cmd.option("--op", o.op, "OP", "print only rewrites of nodes of this op");
  cmd.option("--node", o.node, "#N", "print only the rewrites that node #N takes part in or results from");
  cmd.flag("--nested", o.nested, "print rewrites inside rules, too, such as those of simplify()");
  cmd.group(Group::Output);
  cmd.flag("-q,--quiet", o.quiet, "print one line per rewrite, without the nodes");
  cmd.number("--max-lines", o.max_lines, "N", 0, kMostShown, "print at most N removed and N added nodes; default: 12");
  cmd.option("--explain", o.explain, "%N", "instead: follow node cN of the last stage (or --stage); all: as JSON");
  cmd.flag("--replay", o.replay, "instead: apply the listed rewrites to each stage's input and compare the results");
  cmd.option("-o,--output", o.output, "FILE", "write a trace file, which this command reads; gzip if named .gz");
  add_pipeline_options(cmd, o.over);
  cmd.runs([&o] { return Tracer(o).run(); });
}

}  // namespace tgc
