// tgc: the command line. Each command is a file of its own (cmd_<name>.cpp) that adds itself to the parser.
#include <CLI/CLI.hpp>

#include "apps/tgc/commands.h"

int main(int argc, char** argv) {
  CLI::App app{"tgc: see what tinygrad's compiler does to a graph, stage by stage"};
  app.require_subcommand(1);
  app.set_version_flag("--version", "tgc 0.1.0, after tinygrad 0.12.0");
  int exit_code = 0;
  tgc::add_check(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    app.exit(e);
    return 2;
  }
  return exit_code;
}
