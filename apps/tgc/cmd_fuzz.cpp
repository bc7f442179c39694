// tgc fuzz: random kernels through every stage; what computes something else is bisected and reduced.
#include <CLI/CLI.hpp>
#include <thread>

#include "apps/tgc/commands.h"
#include "apps/tgc/options.h"
#include "apps/tgc/process.h"
#include "apps/tgc/terminal.h"
#include "lib/fuzz/fuzz.h"

namespace tgc {

void add_fuzz(CLI::App& app, int& exit_code) {
  struct Options {
    FuzzSpec spec;
    unsigned jobs = std::max(1u, std::thread::hardware_concurrency());
    bool json = false;
  };
  auto o = std::make_shared<Options>();
  CLI::App* cmd = app.add_subcommand("fuzz", "random kernels, each stage of each compared; what fails is reduced");
  auto option = [&](const char* name, auto& value, const char* type, const char* help) {
    return cmd->add_option(name, value, help)->type_name(type);
  };
  option("--seed", o->spec.seed, "N", "which kernels; default: 0")->check(whole_number(0, INT64_MAX));
  option("--count", o->spec.count, "N", "how many; default: 1000")->check(whole_number(1, INT64_MAX));
  option("--minutes", o->spec.minutes, "M", "as many as there is time for")->check(real_number(0, kMostSeconds / 60));
  option("--graph", o->spec.graph, "NAME", "that graph of the seed alone, by the name that a report gives it");
  option("--device", o->spec.device, "DEV", "run each there, too; default: one of 16 on the CPU, by LLVM and by clang");
  option("--grow", o->spec.grow, "GOLDENS", "golden files: kernels and tensor graphs that others are grown from");
  option("--known", o->spec.known, "FILE.md",
         "rules known to be unsound, as testdata/known_unsound.md names them: no failure");
  option("--tinygrad", o->spec.tinygrad, "PYTHON",
         "a Python with tinygrad 0.12.0 and tgc.export, or a command that answers: each is compiled there, too");
  option("--findings", o->spec.folder, "DIR", "where a repro bundle of each finding goes");
  option("--state", o->spec.state, "FILE",
         "keep there, every minute and when it is stopped, where the campaign is, and go on from there when it is "
         "begun again")
      ->excludes("--graph");
  option("-j,--jobs", o->jobs, "N", "threads; default: as many as there are processors")
      ->check(whole_number(1, kMostThreads));
  cmd->add_flag("--json", o->json, "one JSON object");
  cmd->footer(
      "Kernels of index algebra, with constants where rules change their mind; of arithmetic in many dtypes; and grown "
      "from others, mostly from those that hit rules that few hit. Each is lowered for some target, and run in REF "
      "after every stage that changes it; one in four is compiled again unwatched, one in three as an equivalent "
      "kernel or under NOOPT. What differs goes through `tgc bisect` and `tgc reduce`, and is told once for each "
      "rule.\n"
      "Exit codes: 0 nothing but what is known, 1 findings, 2 trouble. The same seed makes the same kernels with -j1.");
  cmd->callback([o, &exit_code] {
    heed_termination();
    Session session = terminal_session(o->jobs);
    FuzzReport report = fuzz(session, o->spec);
    if (!report.error.empty() && !o->json) exit_code = trouble({.message = report.error});
    else print(o->json ? report.json() : report.text()), exit_code = report.exit_code();
  });
}

}  // namespace tgc
