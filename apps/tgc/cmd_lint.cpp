#include "apps/tgc/options.h"
#include "lib/lint/jit_lint.h"
#include "lib/records/input_file.h"

namespace tgc {
namespace {

struct LintOptions {
  std::vector<std::string> files;
  bool json = false, kinds = false, notes = false;
  CiOptions ci;
};

int run(const LintOptions& o) {
  if (o.kinds && o.ci.has_report_files()) return report_error({.message = "--kinds takes no --junit or --sarif"});
  if (o.kinds) {
    auto list = [&](std::span<const JitFindingKind> kinds, const std::string& before) {
      for (const JitFindingKind& k : kinds)
        print_output(std::string(k.kind) + "\t" + before + std::string(k.help_text) +
                     (k.is_usual_note ? " (told with --notes)\n" : "\n"));
    };
    list(jit_finding_kinds(), ""), list(jit_note_kinds(), "note: ");
    return 0;
  }
  if (o.files.empty()) return report_error({.message = "no recording was given", .expected = "NAME.jit.jsonl.gz"});
  JitLinter lint;
  for (const std::string& file : o.files) {
    auto lines = require_value(LineReader::open(file));
    std::optional<Diag> cut;
    for (std::string line; require_value(next_whole_line(*lines, line, file, cut));)
      if (!line.empty()) require_value(lint.add_line(line, file, lines->line_number()));
    if (cut) show_warning(*cut);
  }
  const bool has_events = lint.num_calls() || !lint.findings().empty();
  if (has_events || o.json) print_report(o.json ? lint.json() : lint.text(o.notes));
  if (has_events) write_ci_reports(o.ci, lint.ci_report(), o.json);
  if (!has_events)
    return report_error({.message = "no call of a TinyJit was recorded", .expected = "NAME.jit.jsonl.gz"});
  return !lint.findings().empty() ? 1 : lint.has_all_facts() ? 0 : 2;
}

}  // namespace

void add_lint(CliCommand& cmd) {
  auto& o = cmd.make_owned_value<LintOptions>();
  cmd.set_description("Find the values, tensors and branches that a TinyJit froze when it captured a program.",
               "tgc lint run.jit.jsonl.gz",
               "To record: python -m tgc.export -o OUT.jsonl.gz -- program.py   (writes OUT.jit.jsonl.gz, too; with\n"
               "tinygrad 0.12.0, add --walk)\n"
               "A note is no finding: it names something that works, and what it depends on.\n"
               "Exit codes: 0 no finding, 1 findings, 2 trouble, or no finding in a recording that lacks facts.");
  cmd.add_positional("RECORDING", o.files, "recordings of TinyJits: OUT.jit.jsonl.gz");
  cmd.set_group(OptionGroup::Output);
  cmd.add_json_flag(o.json);
  cmd.add_cli_flag("--notes", o.notes, "print the notes, too, which nearly every program has");
  add_ci_options(cmd, o.ci);
  cmd.add_cli_flag("--kinds", o.kinds, "list the kinds of findings instead");
  cmd.set_action([&o] { return run(o); });
}

}  // namespace tgc
