// tgc: the command line. Each command is a file of its own (cmd_<name>.cpp) that adds itself to the parser.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>

#include "apps/tgc/commands.h"
#include "apps/tgc/options.h"
#include "apps/tgc/process.h"
#include "apps/tgc/terminal.h"
#include "lib/beam/found_opts.h"
#include "lib/driver/environment.h"
#include "lib/support/limits.h"
#include "lib/support/settings.h"
#include "lib/support/version.h"
#include "lib/text/whole_lines.h"

namespace {

// "tgc 0.1.0, tinygrad 0.12.0, LLVM 19.1.7"
std::string version_line() {
  std::string llvm(tgc::llvm_version());
  return "tgc " + std::string(tgc::tgc_version()) + ", tinygrad " + std::string(tgc::tinygrad_version()) + ", " +
         (llvm.empty() ? "without LLVM" : "LLVM " + llvm);
}

// An option that a command, or tgc itself, has not: `extra` is how it was given.
tgc::Diag unknown_option(const CLI::App& app, const std::string& command, const std::string& extra) {
  const std::string option = extra.substr(0, extra.find('='));
  std::vector<std::string> known;
  auto add = [&](const CLI::App& from) {
    for (const CLI::Option* o : from.get_options())
      for (const std::string& name : o->get_lnames()) known.push_back("--" + name);
  };
  if (const CLI::App* own = tgc::find_command(app, command)) add(*own);
  add(app);
  const std::string caller = command.empty() ? "tgc" : "tgc " + command;
  std::string near = tgc::nearest_names(option, std::vector<std::string_view>(known.begin(), known.end()));
  return {.message = (command.empty() ? "there is" : command + " has") + " no option '" + option + "'",
          .expected = near.empty() ? "one that `" + caller + " --help` lists" : near};
}

// CLI11's message, and the nearest commands or options when one is unknown.
int usage_error(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  std::string hint;
  std::vector<std::string_view> names;
  for (const CLI::App* sub : app.get_subcommands({})) names.push_back(sub->get_name());
  if (argc > 1 && argv[1][0] != '-' && std::find(names.begin(), names.end(), argv[1]) == names.end()) {
    std::string near = tgc::nearest_names(argv[1], names);
    return tgc::trouble({.message = "unknown command '" + std::string(argv[1]) + "'",
                         .expected = near.empty() ? "one that `tgc --help` lists" : near});
  }
  const std::string command = argc > 1 && argv[1][0] != '-' ? argv[1] : "";
  // An option that there is not is worth more words than an INPUT that is missing beside it.
  if (dynamic_cast<const CLI::RequiredError*>(&error) || dynamic_cast<const CLI::ExtrasError*>(&error))
    for (const std::string& extra : app.remaining(true))
      if (extra.starts_with('-') && extra.size() > 1) return tgc::trouble(unknown_option(app, command, extra));
  return tgc::trouble(
      {.message = error.what() + ("; see `tgc " + command) + (command.empty() ? "" : " ") + "--help`"});
}

struct Command {
  std::string_view name;
  void (*add)(CLI::App& app, int& exit_code);
};
// In the order in which --help lists them.
constexpr Command kCommands[] = {
    {"dump", tgc::add_dump},             {"check", tgc::add_check},           {"run", tgc::add_run},
    {"verify", tgc::add_verify},         {"stages", tgc::add_stages},         {"bench", tgc::add_bench},
    {"compile", tgc::add_compile},       {"devices", tgc::add_devices},       {"cache", tgc::add_cache},
    {"diff", tgc::add_diff},             {"bisect", tgc::add_bisect},         {"reduce", tgc::add_reduce},
    {"fuzz", tgc::add_fuzz},             {"patterns", tgc::add_patterns},     {"stats", tgc::add_stats},
    {"trace", tgc::add_trace},           {"view", tgc::add_view},             {"beam", tgc::add_beam},
    {"conform", tgc::add_conform},       {"lint", tgc::add_lint},             {"records", tgc::add_records},
    {"completion", tgc::add_completion}, {"help", tgc::add_help},
};

// To describe the options of a command takes longer than to start the program, so a command that stands first is the
// only one that is added; `help` and `completion` tell of all the others.
void add_commands(CLI::App& app, int& exit_code, std::string_view first) {
  bool one = first != "help" && first != "completion" &&
             std::ranges::find(kCommands, first, &Command::name) != std::end(kCommands);
  for (const Command& c : kCommands)
    if (!one || c.name == first) c.add(app, exit_code);
}

int run_command(int argc, char** argv) {
  CLI::App app{
      "tgc: see what tinygrad's compiler does to a graph, stage by stage\n\n"
      "Exit codes: 0 same or passed, 1 different or failed, 2 trouble."};
  app.require_subcommand(1);
  app.fallthrough();  // --color behind a command, too: the commands take this on when they are added
  app.set_version_flag("--version", version_line);
  tgc::add_color_option(app);
  tgc::add_limit_options(app);
  app.parse_complete_callback(tgc::keep_process_limits);  // before the command's own
  if (auto status = tgc::set_limits_of_environment(); !status) return tgc::trouble(status.diag());
  int exit_code = 0;
  if (auto fault = tgc::check_fault_of_environment(); !fault) return tgc::trouble(fault.diag());
  try {
    add_commands(app, exit_code, argc > 1 ? argv[1] : "");
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {  // help and version
    std::ostringstream text;
    exit_code = app.exit(e, text, text);
    tgc::print(text.str());
  } catch (const CLI::ParseError& e) {
    return usage_error(app, e, argc, argv);
  }
  for (std::string& warning : tgc::fault_warnings()) tgc::warn({.message = std::move(warning)});
  if (std::string note = tgc::found_opts_note(); !note.empty()) tgc::tell("tgc: note: " + note + "\n");
  if (exit_code != 2 && tgc::memory_ran_out())
    exit_code = tgc::trouble({.message = "out of memory: not all was done"});
  if (exit_code == 2) return 2;
  return tgc::finish_output(tgc::input_was_cut() ? 2 : exit_code);  // of which a warning told
}

}  // namespace

int main(int argc, char** argv) {
  tgc::prepare_process();
  try {
    return run_command(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("tgc: out of memory\n", stderr);
    return 2;
  } catch (const std::exception& e) {  // no thread, no file system
    return tgc::trouble({.message = e.what()});
  }
}
