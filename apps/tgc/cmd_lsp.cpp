#include "apps/tgc/command.h"
#include "lib/lsp/server.h"

namespace tgc {

void add_lsp(CliCommand& cmd) {
  struct Options {
    bool stdio = false;
  };
  auto& o = cmd.make_owned_value<Options>();
  cmd.set_description(
      "Serve an editor: problems, hover texts, names, completion and commands for graphs and recordings.", "tgc lsp",
      "The editor starts this command and speaks the language server protocol on standard input and output.\n"
      "It is for pyrender text, reprs, listings, JSON, repro bundles and uncompressed recordings. The folder\n"
      "editors has an extension for VS Code and the lines for Neovim.");
  cmd.add_cli_flag("--stdio", o.stdio, "speak on standard input and output, which is the only way");
  cmd.set_action([] { return serve_lsp(0, 1, "/proc/self/exe"); });
}

}  // namespace tgc
