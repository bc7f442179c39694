// The options of a trial, which `run` and `bisect` have alike.
#include <CLI/CLI.hpp>

#include "apps/tgc/options.h"
#include "lib/run/run_kernel.h"

namespace tgc {
namespace {

void add_variables(CLI::App& command, VariableValues& variables) {
  auto take = [&variables](const std::vector<std::string>& texts) {
    auto values = parse_variables(texts);
    if (!values) throw CLI::ValidationError(values.diag().text());
    variables = std::move(*values);
  };
  command
      .add_option_function<std::vector<std::string>>(
          "--var", take, "binds a variable of the kernel, or a symbolic size of a model")
      ->type_name("NAME=N")
      ->allow_extra_args(false)
      ->take_all();
}

}  // namespace

void add_trial_options(CLI::App& command, RunOptions& t, const std::string& about_device) {
  auto option = [&](const char* name, auto& value, const char* type, const std::string& help) {
    return command.add_option(name, value, help)->type_name(type);
  };
  option("--device", t.device.name, "DEV", about_device);
  option("--inputs", t.input.arrays, "F.npz",
         "an npz (or npy) file with the arrays data0, data1, ...; {} stands for INPUT without its extension");
  option("--seed", t.input.seed, "N", "draw the arrays that no file gives; default without --inputs: 0")
      ->check(whole_number(0, INT64_MAX));
  add_variables(command, t.input.variables);
  auto* expect =
      option("--expect", t.compare.expect, "F.npz", "a file with all that should come out; {} as in --inputs");
  option("--reference", t.compare.reference, "DEV",
         "whose results are expected: a device, or a file (FILE#ID) with a graph that REF runs on the same arrays; "
         "default: REF on the graph as it stands; none: do not compare")
      ->excludes(expect);
  add_tolerance_options(command, t.compare.tolerance);
  option("--timeout", t.device.timeout_seconds, "S",
         "seconds that a kernel may take; 0: any time. Default: 60, emulated and in REF 600")
      ->check(real_number(0, kMostSeconds));
  add_kernel_option(command, t.input.kernel);
}

}  // namespace tgc
