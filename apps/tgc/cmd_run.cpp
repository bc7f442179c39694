#include "apps/tgc/options.h"
#include "apps/tgc/run_command.h"
#include "lib/profile/emulated_trace.h"
#include "lib/run/nan_report.h"

namespace tgc {
namespace {

int explain_nans(const RunCommandOptions& o) {
  const Session session = make_terminal_session(o.overrides);
  int worst = 0;
  for (const std::string& input : o.inputs) {
    const NanReport report = require_value(explain_nan(session, input));
    print_report(o.should_print_json ? report.json() : report.text());
    worst = std::max(worst, report.exit_code());
  }
  return worst;
}

// Runs the inputs, which are kernels that were written by hand (--language). Returns the exit code.
int run_hand_written(RunCommandOptions& o) {
  o.source_options.grid = require_value(parse_launch_size(o.grid)),
  o.source_options.block = require_value(parse_launch_size(o.block));
  o.source_options.kernel = o.run_options.input.kernel;
  o.source_options.target = o.run_options.device.name.empty() ? o.overrides.target : o.run_options.device.name;
  int worst = 0;
  for (const std::string& input : o.inputs) {
    const SourceRunReport report =
        require_value(run_source(make_terminal_session(o.overrides), input, o.source_options, o.run_options));
    print_report(o.should_print_json ? report.json() : report.text());
    worst = std::max(worst, report.has_passed() ? 0 : 1);
  }
  return worst;
}

}  // namespace

void add_run(CliCommand& cmd) {
  auto& o = cmd.make_owned_value<RunCommandOptions>();
  RunOptions& t = o.run_options;
  cmd.set_description("Compile kernels or models, run them and compare the results with a reference.",
                      "tgc run kernel.uop --device=CUDA --seed=1");
  add_input_options(cmd, o.inputs, t.input.kernel, "; several are run in order");
  add_run_options(cmd, t, o.overrides,
                  "CPU[:LLVM|:CLANG], CL, CUDA, AMD, METAL, WEBGPU, plugin:PATH, or REF, the reference interpreter; "
                  "default: --target, else the input's, else CPU:LLVM");
  cmd.set_group(OptionGroup::Input);
  cmd.add_cli_flag("--recorded", t.input.should_run_recorded,
                   "run the linear list and the stages that a golden record holds");
  auto* nan = cmd.add_cli_flag("--nan", o.should_explain_nan,
                               "explain the NaN that `tinygrad_export.py --watch-nan` found in a recording");
  cmd.add_option("--onnx-test", o.onnx_tests, "DIR",
                 "run ONNX conformance cases: folders with model.onnx and test_data_set_*, or folders of such")
      ->check(CLI::ExistingDirectory);
  add_language_option(cmd, o.source_options.language);
  auto* language = cmd->get_option("--language");
  cmd.add_option("--grid", o.grid, "X[,Y[,Z]]", "with --language: number of work groups (blocks); default: 1")
      ->needs(language);
  cmd.add_option("--block", o.block, "X[,Y[,Z]]", "with --language: threads of a work group; default: 1")
      ->needs(language);
  cmd.add_repeated_option("--arg", o.source_options.size_texts, "NAME=N",
               "with --language: elements of a pointer (NAME=float[N] if the source has no type), or a number's value")
      ->needs(language);
  cmd.set_group(OptionGroup::Device);
  cmd.add_number_option("--bench", t.device.timed_runs, "N", 1, kMaxRuns, "time N runs of the kernel");
  cmd.add_cli_flag("--in-process", t.device.should_run_in_process,
           "run kernels in this process, which dies with a kernel that crashes");
  cmd.add_cli_flag("--sanitize", t.device.should_use_sanitizer,
                   "run C or LLVM IR (--device=CPU) under AddressSanitizer");
  cmd.set_group(OptionGroup::Comparison);
  cmd.add_cli_flag("--each-stage", t.compare.should_run_each_stage,
           "run the graph after every stage in REF, name the first wrong one");
  add_repro_option(cmd, t.output.repro_path);
  add_save_failures_option(cmd, t.output.failures_folder);
  cmd.add_option("--save", t.output.save_path, "F.npz", "write the results of the kernel ({} as in --inputs)");
  cmd.add_json_flag(o.should_print_json, "print one JSON object per kernel");
  add_pipeline_options(cmd, o.overrides, false);
  cmd.add_option("--profile", o.profile_path, "F", "write what the emulated AMD executes, for tgc profile")
      ->needs("--emulate");
  for (CLI::Option* other : cmd->get_options([](const CLI::Option* x) { return !x->get_lnames().empty(); }))
    if (other != nan && !other->check_lname("json") && !other->check_lname("help")) nan->excludes(other);
  cmd.set_action([&o] {
    if (!o.source_options.language.empty())
      return require_value(profile::run_and_profile(o.profile_path, [&o] { return run_hand_written(o); }));
    return o.should_explain_nan ? explain_nans(o)
                          : require_value(profile::run_and_profile(o.profile_path, [&o] { return run_inputs(o); }));
  });
}

}  // namespace tgc
