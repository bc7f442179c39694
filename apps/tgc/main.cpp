#include <algorithm>
#include <sstream>

#include "apps/tgc/command.h"
#include "apps/tgc/commands.h"
#include "apps/tgc/options.h"
#include "apps/tgc/process.h"
#include "apps/tgc/terminal.h"
#include "lib/beam/found_opts.h"
#include "lib/driver/session.h"
#include "lib/records/input_file.h"
#include "lib/support/limits.h"
#include "lib/support/log.h"
#include "lib/support/settings.h"
#include "lib/support/version.h"

namespace {

// Returns the text of --version, for example "tgc 0.1.0, tinygrad 0.12.0, LLVM 19.1.7".
std::string version_line() {
  std::string llvm(tgc::llvm_version());
  return "tgc " + std::string(tgc::tgc_version()) + ", tinygrad " + std::string(tgc::tinygrad_version()) + ", " +
         (llvm.empty() ? "without LLVM" : "LLVM " + llvm);
}

// Returns the error for `extra`, an option that neither the command nor tgc itself has.
tgc::Diag unknown_option_error(const CLI::App& app, const std::string& command, const std::string& extra) {
  const std::string option = extra.substr(0, extra.find('='));
  std::vector<std::string> known;
  auto add = [&](const CLI::App& from) {
    for (const CLI::Option* o : from.get_options())
      for (const std::string& name : o->get_lnames()) known.push_back("--" + name);
  };
  if (const CLI::App* own = tgc::find_command(app, command)) add(*own);
  add(app);
  const std::string caller = command.empty() ? "tgc" : "tgc " + command;
  std::string near = tgc::nearest_names_text(option, std::vector<std::string_view>(known.begin(), known.end()));
  return {.message = (command.empty() ? "there is" : command + " has") + " no option '" + option + "'",
          .expected = (near.empty() ? "" : near + ", or ") + "one that `" + caller + " --help` lists"};
}

// Prints the error of the command line and returns 2.
int report_usage_error(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  std::vector<std::string_view> names;
  for (const CLI::App* sub : app.get_subcommands({})) names.push_back(sub->get_name());
  if (argc > 1 && argv[1][0] != '-' && std::find(names.begin(), names.end(), argv[1]) == names.end()) {
    std::string near = tgc::nearest_names_text(argv[1], names);
    if (std::string_view(argv[1]) == "list")
      near = "records (the graphs of a file), stages, patterns (the rules), devices";
    return tgc::report_error({.message = "unknown command '" + std::string(argv[1]) + "'",
                              .expected = (near.empty() ? "" : near + ", or ") + "one that `tgc --help` lists"});
  }
  const std::string command = argc > 1 && argv[1][0] != '-' ? argv[1] : "";
  // Report an unknown option first: it may be the reason why CLI11 finds no INPUT or too many.
  if (dynamic_cast<const CLI::RequiredError*>(&error) || dynamic_cast<const CLI::ExtrasError*>(&error))
    for (const std::string& extra : app.remaining(true))
      if (extra.starts_with('-') && extra.size() > 1)
        return tgc::report_error(unknown_option_error(app, command, extra));
  return tgc::report_error(
      {.message = error.what() + ("; see `tgc " + command) + (command.empty() ? "" : " ") + "--help`"});
}

struct CommandRow {
  std::string_view name;
  void (*add_command)(tgc::CliCommand& cmd);
};
#define TGC_COMMAND_ROW(name) {#name, tgc::add_##name},
constexpr CommandRow kCommands[] = {TGC_COMMANDS(TGC_COMMAND_ROW)};
#undef TGC_COMMAND_ROW

// Adds only the command `first` if there is one of that name, because describing the options of all commands takes
// longer than starting the program. Otherwise, and for `help` and `completion`, adds all commands.
void add_commands(CLI::App& app, int& exit_code, std::string_view first) {
  bool one = first != "help" && first != "completion" &&
             std::ranges::find(kCommands, first, &CommandRow::name) != std::end(kCommands);
  for (const CommandRow& c : kCommands) {
    if (one && c.name != first) continue;
    tgc::CliCommand command(app, std::string(c.name), exit_code);
    c.add_command(command);
  }
}

int run_command(int argc, char** argv) {
  CLI::App app{
      "tgc shows what tinygrad's compiler does to a graph, stage by stage, runs kernels and finds wrong rewrites.\n\n"
      "Exit codes: 0 same or passed, 1 different or failed, 2 trouble."};
  app.formatter(std::make_shared<tgc::HelpFormatter>());
  app.set_help_flag("-h,--help", "print this help and exit");
  app.require_subcommand(1);
  app.fallthrough();  // accept --color after a command, too; commands that are added below inherit this setting
  app.set_version_flag("--version", version_line, "print the versions of tgc, tinygrad and LLVM and exit");
  tgc::add_global_options(app);
  app.parse_complete_callback(tgc::enforce_process_limits);
  if (auto status = tgc::set_limits_of_environment(); !status) return tgc::report_error(status.diag());
  tgc::set_log_output(tgc::print_message);
  if (auto status = tgc::set_log_levels_of_environment(); !status) return tgc::report_error(status.diag());
  int exit_code = 0;
  if (auto fault = tgc::check_fault_of_environment(); !fault) return tgc::report_error(fault.diag());
  try {
    add_commands(app, exit_code, argc > 1 ? argv[1] : "");
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {  // thrown for --help and --version
    std::ostringstream text;
    exit_code = app.exit(e, text, text);
    tgc::print_output(text.str());
  } catch (const CLI::ParseError& e) {
    return report_usage_error(app, e, argc, argv);
  }
  for (std::string& warning : tgc::fault_warnings()) tgc::show_warning({.message = std::move(warning)});
  if (std::string note = tgc::found_opts_note(); !note.empty()) tgc::print_message("tgc: note: " + note + "\n");
  if (exit_code != 2 && tgc::has_memory_run_out())
    exit_code = tgc::report_error({.message = "out of memory: the work is incomplete"});
  if (exit_code == 2) return 2;
  return tgc::finish_output(tgc::is_input_truncated() ? 2 : exit_code);
}

}  // namespace

int main(int argc, char** argv) {
  tgc::prepare_process();
  try {
    return run_command(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("tgc: out of memory\n", stderr);
    return 2;
  } catch (const std::exception& e) {  // such as std::system_error
    return tgc::report_error({.message = e.what()});
  }
}
