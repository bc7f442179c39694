// tgc view INPUT: the pipeline in the browser.
#include <CLI/CLI.hpp>

#include "apps/tgc/commands.h"
#include "apps/tgc/options.h"
#include "apps/tgc/terminal.h"
#include "apps/tgc/view_page.h"
#include "lib/support/write_file.h"
#include "lib/view/gather.h"

namespace tgc {
namespace {

struct ViewOptions {
  std::string input = "-", kernel, output;
  bool no_assembly = false, strip_paths = false;
  Overrides over;
};

int view(const ViewOptions& o) {
  Session session = terminal_session(o.over);
  session.compile.lines = true;
  auto content = gather_view(session, {.input = o.input, .kernel = o.kernel, .assembly = !o.no_assembly,
                                       .strip_paths = o.strip_paths});
  if (!content) return trouble(content.diag());
  auto status = write_file(o.output, view_page(view_page_code(), *content));
  return status ? 0 : trouble(status.diag());
}

}  // namespace

void add_view(CLI::App& app, int& exit_code) {
  auto o = std::make_shared<ViewOptions>();
  CLI::App* cmd = app.add_subcommand(
      "view", "the pipeline in the browser: stages, every rewrite, the graph, and the texts linked to it");
  cmd->add_option("INPUT", o->input, "a file of any kind, FILE#ID for one record, or a trace; default: standard input");
  cmd->add_option("-o,--output", o->output, "write one page that opens from the disk, without a network")
      ->type_name("FILE")
      ->required();
  cmd->add_flag("--no-asm", o->no_assembly, "leave out what only compilers make");
  cmd->add_flag("--strip-paths", o->strip_paths, "leave out the folders of files that are named");
  add_kernel_option(*cmd, o->kernel);
  add_size_option(*cmd, o->over);
  add_weights_option(*cmd, o->over);
  add_pipeline_options(*cmd, o->over);
  cmd->callback([o, &exit_code] { exit_code = view(*o); });
}

}  // namespace tgc
