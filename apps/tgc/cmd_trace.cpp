#include "apps/tgc/options.h"
#include "lib/compilation/pipeline.h"
#include "lib/driver/failure_collector.h"
#include "lib/trace/explain.h"
#include "lib/trace/trace_file.h"
#include "lib/trace/trace_print.h"

namespace tgc {
namespace {

struct TraceOptions {
  std::string input = "-", kernel, stage, rule, op, node, explain, output;
  bool nested = false, quiet = false, replay = false;
  size_t max_lines = 12;
  CompileOverrides overrides{.records_live_rewrites = true};
  CLI::App* app;
};

class TraceCommand {
 public:
  explicit TraceCommand(const TraceOptions& options)
      : options_(options), session_(make_terminal_session(options.overrides)) {}

  int run() {
    set_filter();
    if (options_.replay) return replay();
    if (!options_.explain.empty()) {
      explain_nodes();
    } else if (options_.output.empty()) {
      TracePrinter printer(filter_,
                           {.uses_color = uses_color(1), .max_lines = options_.max_lines, .is_quiet = options_.quiet},
                           print_report);
      require_value(send_events(printer)), require_value(printer.outcome());
    } else {
      auto writer = require_value(TraceWriter::create(options_.output));
      require_value(send_events(*writer)), require_value(writer->close());
    }
    return refusals_.has_failures();
  }

 private:
  void set_filter() {
    filter_.rule_pattern = options_.rule, filter_.includes_nested = options_.nested;
    if (!options_.op.empty()) filter_.ops.add(require_value(op_of_word(options_.op)));
    if (!options_.node.empty()) filter_.node_number = node_number(options_.node, '#', "#N, as the trace shows it");
  }

  // Returns N of a text such as "#N", where `mark` is '#'. Throws Failure with `expected` for another text.
  static uint32_t node_number(const std::string& text, char mark, const char* expected) {
    auto n = number_after_mark(text, mark);
    if (!n) throw Failure(Diag{.message = "'" + text + "' is no node", .expected = expected});
    return *n;
  }

  Status send_events(TraceConsumer& to) { return send_events(to, stages_); }
  Status send_events(TraceConsumer& to, StageSelection& stages) {
    if (is_trace_file(options_.input)) return read_trace_file(to, stages);
    auto status = refusals_.for_each_pipeline(options_.input, options_.kernel, [&](Pipeline& pipeline) -> Status {
      // stops at the first record without rewrites: the file's other records lack them, too
      require_value(pipeline.require_ability(Ability::Rewrites));
      require_for_options(*options_.app, pipeline, Ability::Compile, {"--replay"});
      if (pipeline.has_ability(Ability::Compile)) require_value(check_rule_name(filter_));
      Status status = pipeline.trace_stages(to, stages);
      if (stages.has_unknown_stage()) require_value(status);
      return status;
    });
    return status ? stages.check_words_matched() : status;
  }
  // --stage lists stages of tgc's own pipeline, or is the name or slug of one stage of another pipeline.
  Status read_trace_file(TraceConsumer& to, StageSelection& stages) {
    auto selected = stages.select_rows([](const StageRow&) { return true; });
    auto wants = [&](std::string_view name) {
      const StageRow* row = selected ? find_stage_row(name) : nullptr;
      return stages.is_empty() || (selected && selected->selects_all_rows) ||
             (row && row->name == name && selected->has_row(*row)) || stages.list_text() == name ||
             stages.list_text() == slug_of_stage(name);
    };
    StageFilter chosen(wants, to);
    return read_trace(options_.input, chosen);
  }

  int replay() {
    TraceReplay replay;
    require_value(send_events(replay));
    print_report(replay.text());
    return replay.num_different() || refusals_.has_failures() ? 1 : 0;
  }

  void explain_nodes() {
    std::optional<uint32_t> n;
    const bool is_number = options_.explain.starts_with('#');
    if (options_.explain != "all")
      n = node_number(options_.explain, options_.explain.starts_with('c') ? 'c' : is_number ? '#' : '%',
                      "#N as the trace shows it, %N or cN, which pyrender of the stage's graph names cN, or all");
    NodeExplainer explainer(n, options_.stage, uses_color(1), print_report, is_number);
    StageSelection every;
    require_value(send_events(explainer, every)), require_value(explainer.outcome());
  }

  const TraceOptions& options_;
  Session session_;
  FailureCollector refusals_{session_};
  TraceFilter filter_;
  StageSelection stages_{options_.stage};
};

}  // namespace

void add_trace(CliCommand& cmd) {
  auto& o = cmd.make_owned_value<TraceOptions>();
  o.app = cmd.operator->();
  cmd.set_description("Print every rewrite: its rule, the nodes before and after, and the time.",
               "tgc trace kernel.uop --stage=symbolic --rule=add-zero",
               "Exit codes: 0, 1 a stage refused one of several graphs, or --replay found a difference, 2 trouble.");
  add_input_options(cmd, o.input, o.kernel, ", or a trace file");
  cmd.add_option("--stage", o.stage, "LIST", "trace only these stages");
  cmd.add_option("--rule", o.rule, "RULE", "print only rewrites by this rule: a name with `*`, or a part of FILE:LINE");
  cmd.add_option("--op", o.op, "OP", "print only rewrites of nodes of this op");
  cmd.add_option("--node", o.node, "#N", "print only the rewrites that node #N takes part in or results from");
  cmd.add_cli_flag("--nested", o.nested, "print rewrites inside rules, too, such as those of simplify()");
  cmd.set_group(OptionGroup::Output);
  cmd.add_cli_flag("-q,--quiet", o.quiet, "print one line per rewrite, without the nodes");
  cmd.add_number_option("--max-lines", o.max_lines, "N", 0, kMaxShownItems,
                        "print at most N removed and N added nodes; default: 12");
  cmd.add_option("--explain", o.explain, "%N",
                 "instead: follow node #N, or cN of the last stage (or --stage); all: JSON");
  cmd.add_cli_flag("--replay", o.replay,
                   "instead: apply the listed rewrites to each stage's input and compare the results");
  cmd.add_option("-o,--output", o.output, "FILE", "write a trace file, which this command reads; gzip if named .gz");
  add_pipeline_options(cmd, o.overrides);
  cmd.set_action([&o] { return TraceCommand(o).run(); });
}

}  // namespace tgc
