#include "apps/tgc/options.h"

#include "lib/compilation/pipeline.h"
#include "lib/driver/source.h"
#include "lib/run/run_options.h"
#include "lib/runtime/emulated.h"
#include "lib/support/ci_report.h"

namespace tgc {

void require_for_options(const CLI::App& app, const Pipeline& pipeline, Ability ability,
                         std::initializer_list<const char*> options) {
  for (const char* name : options)
    if (app.count(name)) require_value(pipeline.require_ability(ability, name));
}

void add_pipeline_options(CliCommand& cmd, CompileOverrides& overrides, bool is_device_target, bool has_live) {
  cmd.set_group(OptionGroup::Pipeline);
  auto* target = cmd.add_option("--target", overrides.target, "TARGET",
                                "compile for DEVICE[:RENDERER[:ARCH]], such as CUDA:PTX:sm_80; default: the input's");
  if (is_device_target)
    cmd.add_option("--device", overrides.target, "TARGET", "the same as --target")->excludes(target);
  cmd.add_repeated_option("--set", overrides.settings_texts, "KEY=VALUE",
                          "set a variable of tinygrad, for example NOOPT=1");
  cmd.add_option("--opts", overrides.opts, "LIST",
                 "optimize with this list, such as '[Opt(OptOps.UPCAST, 0, 4)]'; default: tinygrad's heuristic");
  if (!has_live) return;
  cmd.add_cli_flag("--native", overrides.uses_native_pipeline,
                   "compile a kernel of another tinygrad release with tgc's own pipeline");
  cmd.add_cli_flag(kLiveOption, overrides.live_command, kLiveOptionHelp);
}

void add_weights_option(CliCommand& cmd, CompileOverrides& overrides) {
  cmd.set_group(OptionGroup::Input);
  cmd.add_option("--weights", overrides.weights_file, "FILE",
                 "read a model's tensors by name from a safetensors, npz or npy file");
}

void add_size_option(CliCommand& cmd, CompileOverrides& overrides) {
  cmd.set_group(OptionGroup::Input);
  cmd.add_repeated_option("--var", overrides.size_texts, "NAME=N", "set a symbolic size of a model");
}

void add_ci_options(CliCommand& cmd, CiOptions& options) {
  require_value(CiOptions::check_environment());
  cmd.set_group(OptionGroup::Output);
  cmd.add_option("--junit", options.junit_path, "FILE", "write a JUnit report, too; see `tgc help ci`");
  cmd.add_option("--sarif", options.sarif_path, "FILE", "write a SARIF report, too");
}

void write_ci_reports(const CiOptions& options, const CiReport& report, bool json) {
  if (!options.requests_reports()) return;
  const std::string annotations = require_value(options.write_reports(report));
  print_workflow_commands(annotations, json);
}

void add_repro_option(CliCommand& cmd, std::string& file) {
  cmd.set_group(OptionGroup::Output);
  cmd.add_option("--repro", file, "FILE",
                 "write a failing kernel as one file, which `tgc run FILE` repeats ({} as in --inputs)");
}

void add_language_option(CliCommand& cmd, std::string& language) {
  cmd.add_option("--language", language, "L",
                 "INPUT is a kernel written by hand: cuda, hip, opencl, metal, llvm or c");
}

void add_save_failures_option(CliCommand& cmd, std::string& folder) {
  cmd.set_group(OptionGroup::Output);
  cmd.add_option("--save-failures", folder, "DIR", "write the arrays of each failing run to DIR, as npz files");
}

void add_run_options(CliCommand& cmd, RunOptions& o, CompileOverrides& overrides, const std::string& device_help) {
  cmd.set_group(OptionGroup::Input);
  cmd.add_option("--inputs", o.input.arrays_file, "F.npz",
                 "read arrays data0, data1, ... from an npz or npy file; {} stands for INPUT without its extension");
  cmd.add_number_option("--seed", o.input.seed, "N", 0, INT64_MAX, "draw the arrays that no file gives (0)");
  auto set_variables = [&o](const std::vector<std::string>& texts) {
    auto values = parse_variables(texts);
    if (!values) throw CLI::ValidationError(values.diag().text());
    o.input.variables = std::move(*values);
  };
  cmd->add_option_function<std::vector<std::string>>("--var", set_variables,
                                                     "set a variable of the kernel, or a symbolic size of a model")
      ->type_name("NAME=N")
      ->allow_extra_args(false)
      ->take_all();
  add_weights_option(cmd, overrides);

  cmd.set_group(OptionGroup::Device);
  cmd.add_option("--device", o.device.name, "DEV", device_help);
  cmd.add_number_option("--timeout", o.device.timeout_seconds, "S", 0, kMaxTimeoutSeconds,
                        "seconds for each trial of a kernel; default: 60 for each run (emulated: 600); 0: none");
  auto emulate = [] {
    if (auto status = use_emulators(); !status) throw CLI::ValidationError("--emulate", status.diag().text());
  };
  auto* emulated = cmd->add_flag_callback("--emulate", emulate,
                                          "emulate CUDA, AMD and METAL on the CPU and check every memory access");
  cmd->add_flag_callback("--race", enable_race_checks,
                         "with --emulate: find threads that race for an address, and missing waits of AMD code")
      ->needs(emulated);

  cmd.set_group(OptionGroup::Comparison);
  auto* expect =
      cmd.add_option("--expect", o.compare.expected_file, "F.npz", "compare with this file ({} as in --inputs)");
  cmd.add_option("--reference", o.compare.reference_device, "DEV",
                 "compare with a device, with a graph file (FILE#ID) run in REF, or `none`; default: the input in REF")
      ->excludes(expect);
  constexpr double kMost = 1e38;
  cmd.add_number_option("--rtol", o.compare.tolerance.rtol, "X", 0, kMost,
                        "relative tolerance of floats; default: by dtype");
  cmd.add_number_option("--atol", o.compare.tolerance.atol, "X", 0, kMost,
                        "absolute tolerance of floats; default: by dtype");
  cmd.add_number_option("--ulp", o.compare.tolerance.ulp, "N", 0, int64_t{1} << 52,
                        "accept floats at most N ulp apart");
}

}  // namespace tgc
