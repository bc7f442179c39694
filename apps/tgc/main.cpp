// tgc: the command line. Each command is a file of its own (cmd_<name>.cpp) that adds itself to the parser.
#include <CLI/CLI.hpp>
#include <csignal>

#include "apps/tgc/commands.h"
#include "apps/tgc/terminal.h"
#include "lib/support/settings.h"
#include "lib/support/version.h"

namespace {

// "tgc 0.1.0, tinygrad 0.12.0, LLVM 19.1.7"
std::string version_line() {
  std::string llvm(tgc::llvm_version());
  return "tgc " + std::string(tgc::tgc_version()) + ", tinygrad " + std::string(tgc::tinygrad_version()) + ", " +
         (llvm.empty() ? "without LLVM" : "LLVM " + llvm);
}

// CLI11's message, and the nearest commands when one is unknown.
int usage_error(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  std::string hint;
  std::vector<std::string_view> names;
  for (const CLI::App* sub : app.get_subcommands({})) names.push_back(sub->get_name());
  if (argc > 1 && argv[1][0] != '-' && std::find(names.begin(), names.end(), argv[1]) == names.end()) {
    std::string near = tgc::nearest_names(argv[1], names);
    return tgc::trouble({.message = "unknown command '" + std::string(argv[1]) + "'", .expected = near.empty() ? "one that `tgc --help` lists" : near});
  }
  std::string command = argc > 1 && argv[1][0] != '-' ? std::string(argv[1]) + " " : "";
  return tgc::trouble({.message = std::string(error.what()) + "; see `tgc " + command + "--help`"});
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_DFL);  // `tgc ... | head` ends quietly
  CLI::App app{"tgc: see what tinygrad's compiler does to a graph, stage by stage\n\nExit codes: 0 same or passed, 1 different or failed, 2 trouble."};
  app.require_subcommand(1);
  app.fallthrough();  // --color behind a command, too: the commands take this on when they are added
  app.set_version_flag("--version", version_line);
  tgc::add_color_option(app);
  int exit_code = 0;
  tgc::add_dump(app, exit_code);
  tgc::add_check(app, exit_code);
  tgc::add_run(app, exit_code);
  tgc::add_verify(app, exit_code);
  tgc::add_stages(app, exit_code);
  tgc::add_bench(app, exit_code);
  tgc::add_compile(app, exit_code);
  tgc::add_devices(app, exit_code);
  tgc::add_cache(app, exit_code);
  tgc::add_diff(app, exit_code);
  tgc::add_patterns(app, exit_code);
  tgc::add_stats(app, exit_code);
  tgc::add_trace(app, exit_code);
  tgc::add_completion(app, exit_code);
  tgc::add_help(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& e) {
    return app.exit(e);
  } catch (const CLI::CallForAllHelp& e) {
    return app.exit(e);
  } catch (const CLI::CallForVersion& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    return usage_error(app, e, argc, argv);
  }
  return exit_code;
}
