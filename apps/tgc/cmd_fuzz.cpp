#include <thread>

#include "apps/tgc/options.h"
#include "apps/tgc/process.h"
#include "lib/fuzz/fuzz.h"

namespace tgc {
namespace {

struct FuzzOptions {
  FuzzSpec spec;
  std::string live_python;
  unsigned num_jobs = std::max(1u, std::thread::hardware_concurrency());
  bool json = false;
};

int run_fuzz(const FuzzOptions& o) {
  handle_termination();
  Session session = make_terminal_session(o.num_jobs, o.live_python);
  FuzzReport report = fuzz(session, o.spec);
  if (!report.error.empty() && !o.json) return report_error({.message = report.error});
  return (o.json ? print_output(report.json()) : print_report(report.text()), report.exit_code());
}

}  // namespace

void add_fuzz(CliCommand& cmd) {
  auto& o = cmd.make_owned_value<FuzzOptions>();
  cmd.set_description("Generate random kernels, compare what they compute after every stage, and reduce the failures.",
               "tgc fuzz --count=1000 --findings=findings",
               "Kernels are random index algebra, random arithmetic, or mutants of known kernels. Each is compiled\n"
               "for some target and run in REF after every stage that changes it, some also without an observer or\n"
               "under NOOPT. A difference goes through `tgc bisect` and `tgc reduce` and is reported once per rule.\n"
               "Exit codes: 0 no finding but known ones, 1 findings, 2 trouble. With -j1 a seed always makes the same\n"
               "kernels.");
  cmd.set_group(OptionGroup::Input);
  cmd.add_number_option("--seed", o.spec.seed, "N", 0, INT64_MAX, "seed of the kernels; default: 0");
  cmd.add_number_option("--count", o.spec.num_graphs, "N", 1, INT64_MAX, "number of kernels; default: 1000");
  cmd.add_number_option("--minutes", o.spec.limit_minutes, "M", 0, kMaxTimeoutSeconds / 60,
                        "run for this time instead of --count");
  auto* graph = cmd.add_option("--graph", o.spec.graph, "NAME", "make only the graph that a report calls NAME");
  cmd.add_option("--grow", o.spec.golden_files, "GOLDENS", "golden files with the kernels and tensor graphs to mutate");
  cmd.set_group(OptionGroup::Device);
  cmd.add_option("--device", o.spec.device, "DEV", "run every kernel on DEV, too; default: one in 16, on the CPU");
  cmd.set_group(OptionGroup::Comparison);
  cmd.add_option(
      "--known", o.spec.known_rules_file, "FILE.md",
      "ignore these unsound rules, as testdata/known_unsound.md names them; with --live: the built-in tables");
  cmd.add_option("--tinygrad", o.spec.tinygrad_command, "PYTHON", "compare with this Python's tinygrad 0.12.0, too");
  cmd.set_group(OptionGroup::Output);
  cmd.add_json_flag(o.json, "print one JSON object");
  cmd.add_option("--findings", o.spec.folder, "DIR", "write a repro bundle of each finding to this folder");
  cmd.add_option("--state", o.spec.state_file, "FILE",
                 "save the campaign every minute and at the end; resume it from there")
      ->excludes(graph);
  cmd.set_group(OptionGroup::Pipeline);
  cmd.add_jobs_option(o.num_jobs, "one per processor");
  cmd.add_cli_flag(kLiveOption, o.live_python, kLiveOptionHelp);
  cmd.set_action([&o] { return run_fuzz(o); });
}

}  // namespace tgc
