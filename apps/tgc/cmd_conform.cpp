// tgc conform GOLDENS --with=COMMAND: a port of the compiler, judged stage by stage against records of tinygrad.
#include <CLI/CLI.hpp>

#include "apps/tgc/commands.h"
#include "apps/tgc/options.h"
#include "apps/tgc/terminal.h"
#include "lib/conformance/conform.h"
#include "lib/text/input_file.h"

namespace tgc {
namespace {

struct ConformOptions {
  std::vector<std::string> goldens;
  std::string as = "text", baseline, map;
  bool json = false, write = false;
  ConformPlan plan;
};

Result<GraphMap> read_map(const std::string& file) {
  if (file.empty()) return GraphMap();
  auto text = read_file(file);
  if (!text) return text.diag();
  return GraphMap::read(*text, file);
}

int run(const ConformOptions& o) {
  if (o.write && o.baseline.empty())
    return trouble({.message = "--write-baseline writes the file of --baseline", .expected = "--baseline=FILE"});
  ConformPlan plan = o.plan;
  plan.style.color = use_color(1);
  plan.as = o.as == "text" ? ConformAs::Text : o.as == "structure" ? ConformAs::Structure : ConformAs::Values;
  auto map = read_map(o.map);
  if (!map) return trouble(map.diag());
  plan.map = std::move(*map);
  if (!o.baseline.empty() && !o.write)  // a name that is wrong is said before the port has worked
    if (auto status = ConformReport().compare_to_baseline(o.baseline); !status) return trouble(status.diag());
  auto report = conform(terminal_session(1), o.goldens, plan);
  if (!report) return trouble(report.diag());
  ConformCounts all = report->total();
  const bool answered = all.same || all.different || all.not_supported;
  if (!report->ended.empty() && !answered) return trouble({.message = report->ended});
  if (!o.baseline.empty()) {
    auto status = o.write ? report->write_baseline(o.baseline) : report->compare_to_baseline(o.baseline);
    if (!status) return trouble(status.diag());
  }
  print_report(o.json ? report->json() : report->text(plan.style.color));
  if (!report->ended.empty()) return trouble({.message = report->ended});
  if (!all.compared())
    return trouble({.message = "nothing was compared", .expected = "records with stages that the command supports"});
  if (o.write) return 0;
  if (report->baseline_diff) return report->baseline_diff->worse.empty() ? 0 : 1;
  return all.same == all.compared() ? 0 : 1;
}

}  // namespace

void add_conform(CLI::App& app, int& exit_code) {
  auto o = std::make_shared<ConformOptions>();
  CLI::App* cmd = app.add_subcommand(
      "conform", "judge a port of the compiler, stage by stage: ask it what it makes of each recorded graph");
  cmd->add_option("GOLDENS", o->goldens, "golden files, plain or gzip; FILE#ID: that record alone")->required();
  cmd->add_option(
         "--with", o->plan.command,
         "the port: a command of /bin/sh that answers each line that it reads with a line, see below")
      ->type_name("COMMAND")
      ->required();
  cmd->add_option("--as", o->as,
                  "what counts as the same: text (to the letter), structure (but for names), values (what it computes, "
                  "in REF); default: text")
      ->check(CLI::IsMember({"text", "structure", "values"}));
  cmd->add_option("--stage", o->plan.stage, "ask of that stage alone")->type_name("STAGE");
  cmd->add_option(
         "--baseline", o->baseline,
         "fail only when something is worse than that file says, which --write-baseline wrote: what conformed then and "
         "does not now")
      ->type_name("FILE");
  cmd->add_flag("--write-baseline", o->write,
                "write what conforms to the file of --baseline; what it says of other records and stages stays");
  cmd->add_option("--map", o->map, "how the answers' JSON reads as tgc's: a table, such as testdata/maps/svod.map")
      ->type_name("FILE");
  cmd->add_option("--show", o->plan.show, "show the first N differences; default: 3")
      ->type_name("N")
      ->check(whole_number(0, kMostShown));
  cmd->add_option("--timeout", o->plan.seconds,
                  "seconds for an answer, after which the port is started anew; default: 60")
      ->type_name("S")
      ->check(real_number(0.001, 86400));
  cmd->add_flag("--json", o->json, "the counts as JSON");
  cmd->footer(
      "A question:  {\"id\":\"add.0\",\"stage\":\"expander\",\"target\":\"CPU:CLANG\",\"settings\":{},"
      "\"graph\":{...}}\n"
      "An answer:   {\"graph\":...}, a text that tgc reads or its JSON; {\"not_supported\":true}; {\"error\":\"...\"}\n"
      "             After the stages comes `linear`: a listing of print_uops, or JSON with a \"list\"; and of that\n"
      "             list, with --as=text, `source`: {\"source\":\"...\"}.\n"
      "The ratchet: tgc conform GOLDENS --with=PORT --baseline=FILE --write-baseline, and then without the last.\n"
      "Exit codes:  0 what was answered conforms (with --baseline: nothing is worse), 1 it does not, 2 trouble: a\n"
      "port that answers nothing, or fails ten times in a row.");
  cmd->callback([o, &exit_code] { exit_code = run(*o); });
}

}  // namespace tgc
