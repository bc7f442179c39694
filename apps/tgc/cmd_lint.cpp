// tgc lint RECORDING: what a jitted program does silently.
#include <CLI/CLI.hpp>

#include "apps/tgc/commands.h"
#include "apps/tgc/terminal.h"
#include "lib/lint/jit_lint.h"
#include "lib/text/whole_lines.h"

namespace tgc {
namespace {

struct LintOptions {
  std::vector<std::string> files;
  bool json = false, kinds = false, notes = false;
};

int run(const LintOptions& o) {
  if (o.kinds) {
    auto list = [&](std::span<const JitFindingKind> kinds, const std::string& before) {
      for (const JitFindingKind& k : kinds)
        print(std::string(k.what) + "\t" + before + std::string(k.help) +
              (k.is_usual ? " (told with --notes)\n" : "\n"));
    };
    list(jit_finding_kinds(), ""), list(jit_note_kinds(), "note: ");
    return 0;
  }
  if (o.files.empty()) return trouble({.message = "no recording was given", .expected = "NAME.jit.jsonl.gz"});
  JitLint lint;
  for (const std::string& file : o.files) {
    auto lines = LineReader::open(file);
    if (!lines) return trouble(lines.diag());
    std::optional<Diag> cut;
    for (std::string line;;) {
      auto more = next_whole_line(**lines, line, file, cut);
      if (!more) return trouble(more.diag());
      if (!*more) break;
      if (line.empty()) continue;
      if (auto status = lint.add(line, file, (*lines)->line()); !status) return trouble(status.diag());
    }
    if (cut) warn(*cut);
  }
  if (lint.calls() || o.json) print_report(o.json ? lint.json() : lint.text(o.notes));
  if (!lint.calls()) return trouble({.message = "no call of a TinyJit was recorded", .expected = "NAME.jit.jsonl.gz"});
  return lint.findings().empty() ? 0 : 1;
}

}  // namespace

void add_lint(CLI::App& app, int& exit_code) {
  auto o = std::make_shared<LintOptions>();
  CLI::App* cmd = app.add_subcommand(
      "lint", "a jitted program's silent mistakes: values, tensors and branches that stay as they were captured");
  cmd->add_option("RECORDING", o->files, "recordings of TinyJits: OUT.jit.jsonl.gz");
  cmd->add_flag("--kinds", o->kinds, "list the kinds of findings instead");
  cmd->add_flag("--notes", o->notes, "tell the notes, too, that nearly every program has");
  cmd->add_flag("--json", o->json, "as JSON");
  cmd->footer(
      "To record:  python -m tgc.export -o OUT.jsonl.gz --walk -- program.py   writes OUT.jit.jsonl.gz as well\n"
      "A note is no finding: it tells what goes well as it is, and what it hangs on.\n"
      "Exit codes: 0 no finding, 1 findings, 2 trouble.");
  cmd->callback([o, &exit_code] { exit_code = run(*o); });
}

}  // namespace tgc
