// tgc conform GOLDENS --with=COMMAND: a port of the compiler, judged stage by stage against records of tinygrad.
#include <CLI/CLI.hpp>

#include "apps/tgc/commands.h"
#include "apps/tgc/options.h"
#include "apps/tgc/terminal.h"
#include "lib/session/conform.h"
#include "lib/text/input_file.h"

namespace tgc {
namespace {

struct ConformOptions {
  std::vector<std::string> goldens;
  std::string as = "text", baseline, map;
  bool json = false;
  ConformPlan plan;
};

int run(const ConformOptions& o) {
  ConformPlan plan = o.plan;
  plan.style.color = use_color(1);
  plan.as = o.as == "text" ? ConformAs::Text : o.as == "structure" ? ConformAs::Structure : ConformAs::Values;
  if (!o.map.empty()) {
    auto text = read_file(o.map);
    if (!text) return trouble(text.diag());
    auto map = GraphMap::read(*text, o.map);
    if (!map) return trouble(map.diag());
    plan.map = std::move(*map);
  }
  auto report = conform(terminal_session(1), o.goldens, plan);
  if (!report) return trouble(report.diag());
  if (!o.baseline.empty())
    if (auto status = report->hold_to(o.baseline); !status) return trouble(status.diag());
  print_report(o.json ? report->json() : report->text());
  ConformCounts all = report->total();
  if (!all.same && !all.different && !all.errors)
    return trouble({.message = "nothing was compared", .expected = "records with stages that the command supports"});
  if (!o.baseline.empty()) return report->worse.empty() ? 0 : 1;
  return all.different || all.errors ? 1 : 0;
}

}  // namespace

void add_conform(CLI::App& app, int& exit_code) {
  auto o = std::make_shared<ConformOptions>();
  CLI::App* cmd = app.add_subcommand(
      "conform", "judge a port of the compiler, stage by stage: ask it what it makes of each recorded graph");
  cmd->add_option("GOLDENS", o->goldens, "golden files, plain or gzip; FILE#ID: that record alone")->required();
  cmd->add_option(
         "--with", o->plan.command,
         "the port: a command of /bin/sh that answers a line of JSON with a line of JSON; lib/session/README.md "
         "says which")
      ->type_name("COMMAND")
      ->required();
  cmd->add_option("--as", o->as,
                  "what counts as the same: text (to the letter), structure (but for names), values (what it computes, "
                  "in REF); default: text")
      ->check(CLI::IsMember({"text", "structure", "values"}));
  cmd->add_option("--stage", o->plan.stage, "ask of that stage alone")->type_name("STAGE");
  cmd->add_option(
         "--baseline", o->baseline,
         "fail only when something that conformed no longer does: as that file says, which is written where it "
         "does not exist")
      ->type_name("FILE");
  cmd->add_option("--map", o->map, "how the answers' JSON reads as tgc's: a table of names")->type_name("FILE");
  cmd->add_option("--show", o->plan.show, "show the first N differences; default: 3")
      ->type_name("N")
      ->check(whole_number(0, kMostShown));
  cmd->add_option("--timeout", o->plan.seconds, "seconds for an answer; default: 60")->type_name("S");
  cmd->add_flag("--json", o->json, "the counts as JSON");
  cmd->callback([o, &exit_code] { exit_code = run(*o); });
}

}  // namespace tgc
