// tgc view INPUT [B]: the pipeline in the browser, as a page or from a server.
#include <spawn.h>

#include <CLI/CLI.hpp>
#include <csignal>

#include "apps/tgc/commands.h"
#include "apps/tgc/options.h"
#include "apps/tgc/terminal.h"
#include "apps/tgc/view_page.h"
#include "lib/support/write_file.h"
#include "lib/view/gather.h"
#include "lib/view/server.h"

namespace tgc {
namespace {

struct ViewOptions {
  std::string input = "-", other, kernel, output;
  bool no_assembly = false, strip_paths = false, open = false;
  int port = 0;
  Overrides over;
};

Cancel& stop_request() {
  static Cancel cancel;
  return cancel;
}

int serve(const ViewOptions& o, Session& session, ViewContent content) {
  auto server = ViewServer::start(o.port, view_page_code(), std::move(content));
  if (!server) return trouble(server.diag());
  print((*server)->address() + "\n");
  std::fflush(stdout);
  session.note("until Ctrl-C");
  if (o.open) {
    const char* words[] = {"xdg-open", (*server)->address().c_str(), nullptr};
    pid_t child = 0;
    if (posix_spawnp(&child, words[0], nullptr, nullptr, const_cast<char**>(words), environ))
      session.warn({.message = "no browser was opened: there is no xdg-open"});
  }
  session.cancel = &stop_request();
  for (int signal : {SIGINT, SIGTERM}) std::signal(signal, [](int) { stop_request().request(); });
  (*server)->serve(session);
  return 0;
}

int view(const ViewOptions& o) {
  Session session = terminal_session(o.over);
  session.compile.lines = true;
  ViewPlan plan{.input = o.input, .kernel = o.kernel, .other = o.other, .later = o.output.empty(),
                .assembly = !o.no_assembly, .strip_paths = o.strip_paths};
  auto content = gather_view(session, plan);
  if (!content) return trouble(content.diag());
  if (o.output.empty()) return serve(o, session, std::move(*content));
  auto status = write_file(o.output, view_page(view_page_code(), *content));
  return status ? 0 : trouble(status.diag());
}

}  // namespace

void add_view(CLI::App& app, int& exit_code) {
  auto o = std::make_shared<ViewOptions>();
  CLI::App* cmd = app.add_subcommand(
      "view", "the pipeline in the browser: stages, every rewrite, the graph, and the texts linked to it");
  cmd->add_option("INPUT", o->input, "a file of any kind, FILE#ID for one record, or a trace; default: standard input");
  cmd->add_option("B", o->other, "another one, to compare with: golden records and folders as they were recorded");
  auto* output = cmd->add_option("-o,--output", o->output,
                                 "write one page that opens from the disk, without a network; else a server on "
                                 "127.0.0.1 sends it, and runs the kernels of a model when they are opened")
                     ->type_name("FILE");
  cmd->add_option("--port", o->port, "of the server; default: one that is free")
      ->type_name("N")
      ->check(CLI::Range(1, 65535))
      ->excludes(output);
  cmd->add_flag("--open", o->open, "open the server's page in a browser")->excludes(output);
  cmd->add_flag("--no-asm", o->no_assembly, "leave out what only compilers make");
  cmd->add_flag("--strip-paths", o->strip_paths, "leave out the folders of files that are named");
  add_kernel_option(*cmd, o->kernel);
  add_size_option(*cmd, o->over);
  add_weights_option(*cmd, o->over);
  add_pipeline_options(*cmd, o->over);
  cmd->callback([o, &exit_code] { exit_code = view(*o); });
}

}  // namespace tgc
