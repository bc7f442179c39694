#include "apps/tgc/options.h"
#include "lib/driver/source.h"
#include "lib/profile/report.h"

namespace tgc {
namespace {

struct ProfileCommandOptions {
  std::string input, newer_profile, kernel_source_input;
  CompileOverrides overrides;
  bool json = false, packets = false, waves = false, counters = false, memory = false;
  unsigned num_jobs = 0;
};

profile::Profile read_and_analyze(const ProfileCommandOptions& o, const InputName& name) {
  auto trace = require_value(profile::read_trace(name.file));
  return require_value(profile::analyze_profile(std::move(trace), {.kernel = name.id, .num_threads = o.num_jobs}));
}

bool shows_part_of_profile(const ProfileCommandOptions& o) {
  return o.packets || o.waves || o.counters || o.memory || !o.newer_profile.empty();
}

bool shows_sources(const ProfileCommandOptions& o, const InputName& name) {
  return !shows_part_of_profile(o) && (!name.id.empty() || !o.kernel_source_input.empty());
}

int run_profile(const ProfileCommandOptions& o) {
  InputName name = InputName::parse(o.input);
  if (o.memory && !name.id.empty())
    return report_error({.message = "--memory is about the whole profile, not a kernel"});
  const bool has_options = !(o.kernel_source_input.empty() && o.overrides.target.empty() &&
                             o.overrides.settings_texts.empty() && o.overrides.opts.empty());
  if (has_options && !shows_sources(o, name))
    return report_error({.message = "--with, --target, --set and --opts are for the source lines of a kernel",
                         .expected = "TRACE#KERNEL, or --with"});
  profile::Profile p = read_and_analyze(o, name);
  const Session session = make_terminal_session(o.overrides, o.num_jobs);
  if (!shows_part_of_profile(o)) p.kernel_works = profile::find_kernel_works(session, p.trace);
  if (shows_sources(o, name)) p.sources = require_value(profile::find_sources(session, o.kernel_source_input, p));
  if (!o.newer_profile.empty()) {
    profile::Profile other = read_and_analyze(o, InputName::parse(o.newer_profile));
    print_report(o.json ? profile::comparison_json(p, other) : profile::comparison_text(p, other));
  } else if (o.packets) {
    profile::print_packets(p, o.json, [](std::string_view text) { print_report(text); });
  } else if (o.waves) {
    o.json ? profile::print_waves_json(p, name.display_name(), print_output) : print_report(profile::waves_text(p));
  } else if (o.counters) {
    print_report(o.json ? profile::counters_json(p, name.display_name()) : profile::counters_text(p));
  } else if (o.memory) {
    print_report(o.json ? profile::memory_json(p.trace, name.display_name()) : profile::memory_text(p.trace));
  } else if (o.json) {
    profile::print_json(p, name.display_name(), print_output);
  } else {
    print_report(name.id.empty() ? profile::overview_text(p, name.display_name()) : profile::instructions_text(p));
  }
  return 0;
}

}  // namespace

void add_profile(CliCommand& cmd) {
  auto& o = cmd.make_owned_value<ProfileCommandOptions>();
  cmd.set_description("Show the hardware traces and counters that tinygrad stored: which instruction is slow, and why.",
               "tgc profile profile.pkl#r_32_32_16_2",
               "TRACE is profile.pkl of tinygrad 0.12.0 or later (PROFILE=1, VIZ=1; VIZ=-2 adds AMD's traces).\n"
               "Without #KERNEL: kernels by total time. With #KERNEL: hints with evidence, and its instructions.\n"
               "cycles: since the wave's previous instruction. stall: all but the cycle of the issue. idle: the part\n"
               "of the stall in which the SIMD issued nothing for other waves either. reason: that of most of the\n"
               "stall. WAIT <- 0x..: the loads and stores that it waits for.\n"
               "Source lines and UOps come from --with or, without it, from the kernel's AST if the profile has it.\n"
               "Lines with ~ are approximate: the kernel compiles to other code than that of the profile.");
  cmd.add_positional("TRACE", o.input, "profile.pkl; #KERNEL selects the runs of a kernel, #'KERNEL n2' one run")
      ->required();
  cmd.set_group(OptionGroup::Input);
  cmd.add_option("--with", o.kernel_source_input, "INPUT",
                 "a recording, rewrites.pkl or graph with the kernel, for its source lines");
  cmd.set_group(OptionGroup::Comparison);
  cmd.add_option("--against", o.newer_profile, "TRACE", "compare with this newer profile, instruction by instruction");
  cmd.set_group(OptionGroup::Output);
  std::vector<CLI::Option*> parts;
  parts.push_back(cmd.add_cli_flag("--packets", o.packets, "list the packets of the traces"));
  parts.push_back(cmd.add_cli_flag("--waves", o.waves, "list the waves"));
  parts.push_back(
      cmd.add_cli_flag("--counters", o.counters, "list the counters by unit, and values computed from them"));
  parts.push_back(cmd.add_cli_flag("--memory", o.memory, "list the buffers, and the peak of each device"));
  for (size_t n = 0; n < parts.size(); n++)
    for (size_t m = 0; m < n; m++) parts[n]->excludes(parts[m]);
  for (CLI::Option* part : parts) part->excludes("--against");
  cmd.add_json_flag(o.json);
  cmd.add_jobs_option(o.num_jobs, "one per processor");
  add_pipeline_options(cmd, o.overrides, false, false);
  cmd.set_action([&o] { return run_profile(o); });
}

}  // namespace tgc
