#include "lib/run/repro_command.h"

#include <cstdlib>
#include <filesystem>

#include "lib/driver/source.h"
#include "lib/runtime/npz.h"
#include "lib/support/counted.h"
#include "lib/support/write_file.h"

namespace tgc {

std::string command_with_file(std::string command, const std::string& file) {
  for (size_t at = 0; (at = command.find("{}", at)) != command.npos; at += file.size()) command.replace(at, 2, file);
  return command;
}

Status check_takes_file(const std::string& option, const std::string& command) {
  if (command.find("{}") != command.npos) return Unit{};
  return Diag{.message = option + " would say the same of every graph", .expected = "{} where the graph's file goes"};
}

std::string quote_for_shell(const std::string& text) {
  static constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./#@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == text.npos) return text;
  std::string out = "'";
  for (char c : text) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

std::string fault_command_prefix() {
  const char* fault = std::getenv("TGC_FAULT");
  return fault && *fault ? "TGC_FAULT=" + quote_for_shell(fault) + " " : "";
}

std::string repeated_options(const Session& session, const RunOptions& options, const InputGraph& in,
                             const Placement& place) {
  std::string out;
  auto add = [&](const std::string& name, const std::string& value) {
    if (!value.empty()) out += " --" + name + "=" + quote_for_shell(value);
  };
  auto number = [&](const char* name, const std::optional<double>& v) {
    if (v) add(name, formatted("%.17g", *v));
  };
  const CompileOverrides& over = session.overrides;
  InputName input = InputName::parse(options.input.name);
  bool one_of_many = options.input.kernel.empty() && input.file != "-" && input.id.empty() &&
                     in.file.find('#') != in.file.npos;
  add("kernel", one_of_many ? in.info.name : options.input.kernel);
  add("device", options.device.name);
  add("target", over.target);
  if (options.device.name.empty() && over.target.empty()) out += placement_options(place);
  for (const std::string& s : over.settings_texts) add("set", s);
  add("opts", over.opts);
  add("from", over.start_stage), add("weights", over.weights_file);
  if (over.uses_native_pipeline) out += " --native";
  add("live", over.live_command);
  for (auto& [name, value] : options.input.variables) add("var", name + "=" + std::to_string(value));
  number("rtol", options.compare.tolerance.rtol);
  number("atol", options.compare.tolerance.atol);
  if (options.compare.tolerance.ulp) add("ulp", std::to_string(*options.compare.tolerance.ulp));
  return out + (options.compare.should_run_each_stage ? " --each-stage" : "") +
         (options.input.should_run_recorded ? " --recorded" : "") + over.other_options;
}

std::string bundle_command(const Session& session, const std::string& path) {
  Session compiling{
      .overrides = {.live_command = session.overrides.live_command, .other_options = session.overrides.other_options}};
  return "tgc run " + quote_for_shell(path) + repeated_options(compiling, {}, {}, {});
}

std::string placement_options(const Placement& place) {
  if (place.label.empty()) return "";
  if (!place.is_ref) return " --device=" + quote_for_shell(place.device_option());
  return " --device=REF" + (place.target ? " --target=" + quote_for_shell(place.target->name()) : "");
}

std::string fill_in_name(const std::string& pattern, const InputOptions& input, const std::string& name,
                         bool is_record) {
  size_t at = pattern.find("{}");
  if (at == pattern.npos) return pattern;
  std::string stem = InputName::parse(input.name).name_without_extension(name, is_record);
  return pattern.substr(0, at) + stem + pattern.substr(at + 2);
}

Result<std::string> reserve_path(const std::string& pattern, const RunOptions& options, const std::string& name,
                                 bool is_record) {
  std::string path = fill_in_name(pattern, options.input, name, is_record);
  if (options.output.used_paths && !options.output.used_paths->reserve_path(path))
    return Diag{.message = "another kernel's results are there already",
                .file = path,
                .expected = pattern == path ? "--save='{}.npz', which names a file for each"
                                            : "kernels of different names"};
  return path;
}

Result<std::string> failure_file_stem(const RunOptions& options, const std::string& name) {
  const std::filesystem::path folder = options.output.failures_folder;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return Diag{.message = error.message(), .file = folder.string()};
  const std::string stem = file_name_of(name);
  return (folder / (options.output.used_paths ? options.output.used_paths->make_distinct_path(stem) : stem)).string();
}

Status save_failure(const Session& session, const RunOptions& options, const InputGraph& in, const Placement& place,
                    const Arrays& inputs, const Arrays& expected, const Arrays& actual, RunReport& report) {
  std::string input = options.input.name;
  auto command = [&] {
    return fault_command_prefix() + "tgc run " + quote_for_shell(input) + repeated_options(session, options, in, place);
  };
  if (options.output.failures_folder.empty()) {
    if (input == "-") return Unit{};
    report.repeat_command =
        command() +
        (options.input.arrays_file.empty() ? "" : " --inputs=" + quote_for_shell(options.input.arrays_file)) +
        (options.compare.expected_file.empty() ? "" : " --expect=" + quote_for_shell(options.compare.expected_file)) +
        (report.seed && *report.seed ? " --seed=" + std::to_string(*report.seed) : "");
    return Unit{};
  }
  return catch_failures([&] {
    const std::filesystem::path input_path = fill_in_name("{}", options.input, in);
    const std::string stem = failure_file_stem(options, input_path.filename().string()).value_or_throw() + "-";
    auto write = [&](const std::string& what, const Arrays& arrays) {
      write_npz(stem + what + ".npz", arrays).value_or_throw();
      report.written_files.push_back(stem + what + ".npz");
    };
    write("inputs", inputs);
    if (!expected.empty()) write("expected", expected);
    write("actual", actual);
    if (input == "-") {
      input = stem + "kernel.txt";
      write_file(input, in.text).value_or_throw();
      report.written_files.push_back(input);
    }
    report.repeat_command = command() + " --inputs=" + quote_for_shell(stem + "inputs.npz") +
                            (expected.empty() ? "" : " --expect=" + quote_for_shell(stem + "expected.npz"));
    return Unit{};
  });
}

}  // namespace tgc
