#include <csignal>

#include "apps/tgc/options.h"
#include "lib/contain/process.h"
#include "lib/runtime/array.h"
#include "lib/support/write_file.h"
#include "lib/view/gather.h"
#include "lib/view/profile_page.h"
#include "lib/view/server.h"

// The pages without their data. scripts/tools/embed_view makes them from view/ and view_profile/.
asm(".section .rodata\n"
    ".global tgc_view_page_begin\n.global tgc_view_page_end\n.global tgc_profile_page_end\n"
    "tgc_view_page_begin:\n.incbin \"" TGC_VIEW_PAGES "view_page.html\"\n"
    "tgc_view_page_end:\n.incbin \"" TGC_VIEW_PAGES "profile_page.html\"\ntgc_profile_page_end:\n"
    ".section .text\n");
extern "C" const char tgc_view_page_begin[], tgc_view_page_end[], tgc_profile_page_end[];

namespace tgc {
namespace {

std::string_view view_page_code() { return {tgc_view_page_begin, tgc_view_page_end}; }
std::string_view profile_page_code() { return {tgc_view_page_end, tgc_profile_page_end}; }

struct ViewOptions {
  std::string input = "-", other, kernel, output;
  std::string device;
  bool no_assembly = false, strip_paths = false, open = false, run = false, bisect = false, prove = false;
  int port = 0;
  CompileOverrides overrides{.records_live_rewrites = true};
};

int serve_view(const ViewOptions& o, Session& session, ViewContent content) {
  auto server = require_value(ViewServer::start_server(o.port, view_page_code(), std::move(content)));
  print_output(server->page_address() + "\n");
  flush_output();
  session.report_note("serving until Ctrl-C");
  if (o.open) {
    std::string page = require_value(server->redirect_file());
    if (!start_process({.argv = {"xdg-open", page}}))
      session.send_warning({.message = "no browser was opened: xdg-open is missing"});
  }
  static CancelRequest stop;
  session.cancel = &stop;
  for (int signal : {SIGINT, SIGTERM}) std::signal(signal, [](int) { stop.request_cancel(); });
  server->serve_requests(session);
  return 0;
}

ViewRequest make_view_request(const ViewOptions& o) {
  return {.input = o.input,
          .kernel = o.kernel,
          .other_input = o.other,
          .should_compile_later = o.output.empty(),
          .should_include_assembly = !o.no_assembly,
          .should_strip_paths = o.strip_paths,
          .should_run_kernels = o.run,
          .should_bisect_kernels = o.bisect,
          .should_prove_rewrites = o.prove,
          .run_device = o.device};
}

int run_view(const ViewOptions& o) {
  Session session = make_terminal_session(o.overrides, 0);
  session.compile_options.has_source_lines = true;
  std::string page;
  int outcome = 0;
  if (const bool is_profile = is_profile_input(o.input); is_profile && o.output.empty()) {
    return report_error({.message = "a profile's page is written to a file", .expected = "-o page.html"});
  } else if (is_profile) {
    page = require_value(read_profile_page(profile_page_code(), session, o.input, o.other));
  } else {
    ViewContent content = require_value(gather_view(session, make_view_request(o)));
    if (o.output.empty()) return serve_view(o, session, std::move(content));
    page = make_view_page(view_page_code(), content, session.num_jobs);
    for (const RecordedGraph& g : content.graphs)  // the page shows what tinygrad did before it raised the error
      if (!g.producer.empty() && !g.error.empty()) session.send_warning({.message = g.error}), outcome = 2;
  }
  require_value(write_file(o.output, page));
  session.report_note("wrote " + o.output + ", " + bytes_text(page.size()));
  return outcome;
}

}  // namespace

void add_view(CliCommand& cmd) {
  auto& o = cmd.make_owned_value<ViewOptions>();
  cmd.set_description("Show the pipeline in a browser: the graph after each stage and rewrite, and its texts.",
                      "tgc view kernel.uop -o page.html");
  add_input_options(cmd, o.input, o.kernel, ", a trace file, or a profile.pkl");
  auto* b = cmd.add_positional("B", o.other,
                           "a second input to compare with; records and folders are shown as recorded; for a\n"
                           "profile.pkl, a newer profile.pkl, or an input with its kernels, for their lines and UOps");
  add_size_option(cmd, o.overrides);
  add_weights_option(cmd, o.overrides);
  cmd.set_group(OptionGroup::Device);
  cmd.add_option("--device", o.device, "DEV", "where --run and --bisect run kernels; otherwise the same as --target");
  cmd.add_cli_flag("--run", o.run, "run the kernels and show the time of each: the fastest of 5 runs")->excludes(b);
  cmd.add_cli_flag("--bisect", o.bisect,
                   "bisect a kernel that computes a wrong result and open the page at the culprit")
      ->excludes(b);
  cmd.add_cli_flag("--prove", o.prove, "prove each rewrite of kernels, as tgc prove does, and show the verdicts")
      ->excludes(b);
  cmd.set_group(OptionGroup::Output);
  auto* output = cmd.add_option("-o,--output", o.output, "FILE", "write one page; default: serve it on 127.0.0.1");
  cmd.add_number_option("--port", o.port, "N", 1, 65535, "port of the server; default: a free one")->excludes(output);
  cmd.add_cli_flag("--open", o.open, "open the server's page in a browser")->excludes(output);
  cmd.add_cli_flag("--no-asm", o.no_assembly, "leave out what compilers make: LLVM IR and assembly");
  cmd.add_cli_flag("--strip-paths", o.strip_paths, "leave out the folders of files");
  add_pipeline_options(cmd, o.overrides, false);
  cmd.set_action([&o] {
    if (!o.run && !o.bisect && !o.device.empty()) o.overrides.target = o.device;
    return run_view(o);
  });
}

}  // namespace tgc
