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
  std::string device;
  bool no_assembly = false, strip_paths = false, open = false, run = false, bisect = false;
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
  flush_output();  // whoever does not know the address has nothing of a server
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
                .assembly = !o.no_assembly, .strip_paths = o.strip_paths, .run = o.run, .bisect = o.bisect,
                .device = o.device};
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
  cmd->add_option("INPUT", o->input, "a file of any kind, FILE#ID for one id, or a trace; default: standard input");
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
  auto* run = cmd->add_flag("--run", o->run, "run the kernels, and show how long each took: the fastest of 5 runs");
  auto* bisect = cmd->add_flag("--bisect", o->bisect,
                               "of a kernel that computes something else: seek who is to blame, as `tgc bisect` does, "
                               "and open the page there");
  auto* b = cmd->get_option("B");
  run->excludes(b), bisect->excludes(b);
  cmd->add_option("--device", o->device, "where --run and --bisect run, as `tgc run --device` takes it; else the same "
                                         "as --target")
      ->type_name("DEV");
  cmd->add_flag("--no-asm", o->no_assembly, "leave out what only compilers make");
  cmd->add_flag("--strip-paths", o->strip_paths, "leave out the folders of files that are named");
  add_kernel_option(*cmd, o->kernel);
  add_size_option(*cmd, o->over);
  add_weights_option(*cmd, o->over);
  add_pipeline_options(*cmd, o->over, false);
  cmd->callback([o, &exit_code] {
    if (!o->run && !o->bisect && !o->device.empty()) o->over.target = o->device;
    exit_code = view(*o);
  });
}

}  // namespace tgc
