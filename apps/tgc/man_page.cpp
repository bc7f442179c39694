#include <CLI/CLI.hpp>

#include "apps/tgc/commands.h"
#include "lib/support/version.h"

namespace tgc {
namespace {

// Escapes `text` so that troff prints every character.
std::string escape_troff(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); i++) {
    bool is_first = i == 0 || text[i - 1] == '\n';
    if (is_first && (text[i] == '.' || text[i] == '\'')) out += "\\&";
    if (text[i] == '\\') out += "\\e";
    else if (text[i] == '-') out += "\\-";
    else out += text[i];
  }
  return out;
}

std::string verbatim_block(std::string_view text) { return ".nf\n" + escape_troff(text) + ".fi\n"; }

std::string to_title(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c == '-' ? ' ' : char(std::toupper(c));
  return out;
}

}  // namespace

std::string make_man_page(const CLI::App& app) {
  std::string out = ".TH TGC 1 \"\" \"tgc " + std::string(tgc_version()) + "\" \"User Commands\"\n" +
                    ".SH NAME\ntgc \\- see what tinygrad's compiler does to a graph, stage by stage\n"
                    ".SH SYNOPSIS\n.B tgc\n\\fICOMMAND\\fR [\\fIOPTION\\fR...] [\\fIINPUT\\fR]\n"
                    ".SH DESCRIPTION\nLoads a graph or a model, runs the compiler pipeline of tinygrad " +
                    std::string(tinygrad_version()) +
                    ", shows what every stage did and\nwhich rule did it, and runs the kernels to compare them with a "
                    "reference.\n"
                    ".SH COMMANDS\n";
  for (const CLI::App* command : visible_commands(app))
    out += ".SS tgc " + command->get_name() + "\n" + verbatim_block(command->help("tgc"));
  for (std::string_view topic : help_topics())
    out +=
        ".SH " + (topic == "exit-codes" ? "EXIT STATUS" : to_title(topic)) + "\n" + verbatim_block(help_text_on(topic));
  return out + ".SH SEE ALSO\ntinygrad, whose compiler this is: https://github.com/tinygrad/tinygrad\n";
}

}  // namespace tgc
