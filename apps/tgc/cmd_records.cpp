// tgc records FILE: what golden records a file holds.
#include <CLI/CLI.hpp>

#include "apps/tgc/commands.h"
#include "apps/tgc/options.h"
#include "apps/tgc/terminal.h"
#include "lib/replay/record_list.h"

namespace tgc {
namespace {

int run(const std::string& file, bool as_json) {
  auto list = list_records(terminal_session(1), file);
  if (!list) return trouble(list.diag());
  print_report(as_json ? list->json(file) : list->text());
  return 0;
}

}  // namespace

void add_records(CLI::App& app, int& exit_code) {
  auto file = std::make_shared<std::string>("-");
  auto as_json = std::make_shared<bool>(false);
  CLI::App* cmd = app.add_subcommand(
      "records",
      "list the golden records of a file: id, target, nodes, the kernel, what of the program it was made for");
  cmd->add_option("GOLDENS", *file, "a golden file, plain or gzip; default: standard input");
  cmd->add_flag("--json", *as_json, "as JSON");
  cmd->footer("One of them is an INPUT as FILE#ID. How they are made: `tgc help recording`.");
  cmd->callback([file, as_json, &exit_code] { exit_code = run(*file, *as_json); });
}

}  // namespace tgc
