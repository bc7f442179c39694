// tgc help [TOPIC]: what no single command's --help says.
#include <CLI/CLI.hpp>

#include "apps/tgc/commands.h"
#include "lib/compilation/outputs.h"
#include "apps/tgc/terminal.h"
#include "lib/text/formats.h"

namespace tgc {
namespace {

constexpr std::string_view kTopics[] = {"stages", "formats", "settings", "targets", "inputs", "debug", "exit-codes"};

std::string row(std::string_view a, size_t width, std::string_view b) {
  std::string out = "  " + std::string(a);
  out.resize(std::max(out.size() + 2, width + 4), ' ');
  return out + std::string(b) + "\n";
}

std::string stages() {
  std::string out =
      "Stages, in order, by tinygrad's names. --stage takes a name in any case, its slug (post-index-symbolic) or the alias in the second column; a\n"
      "list a,b; a span a..b, a.. or ..b; all; changed (those that changed the graph).\n\nOf a tensor graph:\n";
  for (const TensorStage& s : tensor_stages()) out += row(s.name, 32, s.alias);
  out += "\nOf a kernel:\n" + row("ast", 32, "the kernel as it enters");
  for (const Stage& s : kernel_stages()) out += row(s.name, 32, s.alias);
  out += "\nMade of the last graph:\n";
  for (const OutputStage& o : output_stages()) out += row(o.name, 32, o.help);
  return out + "\n`tgc stages` adds how many rules each has, `tgc patterns --stage=S` lists them.\n";
}

std::string formats() {
  std::string out = "Formats that --format takes and that every command reads back (but nodes and dot); which one an input is in is found from its content:\n";
#define X(id, name, extension, about) out += row(name, 10, std::string(about) + " (." extension ")");
  TGC_FORMATS(X)
#undef X
  return out;
}

std::string settings() {
  std::string out =
      "Settings, by the names of tinygrad's environment variables. --set NAME=VALUE comes first, then what a golden file or JSON says it was made\n"
      "with, then the environment, then the default:\n";
  for (const SettingInfo& s : all_settings()) out += row(std::string(s.name) + "=" + std::to_string(s.default_value), 32, s.help);
  return out;
}

std::string targets() {
  std::string out = "Targets, DEVICE:RENDERER[:ARCH]; parts that are left out take the device's default. No such device is needed to compile for it:\n";
  for (std::string_view t : known_targets()) out += "  " + std::string(t) + "\n";
  return out;
}

std::string inputs() {
  return "INPUT is a file or - (standard input). Its kind is found from its content, never from its name:\n" + row("pyrender", 10, "tinygrad's pyrender text, of a kernel or a tensor graph") +
         row("repr", 10, "what print(uop) shows in tinygrad") + row("uops", 10, "a print_uops listing") + row("json", 10, "tgc's own") +
         row("golden", 10, "golden records (scripts/tinygrad_export.py), plain or gzip; FILE#ID or --kernel=N picks one") +
         row("trace", 10, "of `tgc trace` alone: what `tgc trace -o` wrote") +
         "A graph that a stage left (tgc dump -o DIR) goes on after that stage; --from=STAGE says so of a text that does not.\n";
}

std::string debug() {
  return "tinygrad's environment variables work as they do there, with `tgc dump` and `tgc run`; what they print goes to standard error:\n" +
         row("DEBUG=1", 20, "how many kernels were scheduled") + row("DEBUG=2", 20, "a line per kernel; of run with its time and rates") +
         row("DEBUG=3", 20, "the optimizer's list") + row("DEBUG=4", 20, "the source") + row("DEBUG=5", 20, "the AST, as pyrender text") +
         row("DEBUG=6", 20, "the linear list, as print_uops shows it") + row("DEBUG=7", 20, "the machine code, disassembled") +
         row("DEBUG_LINEARIZE=1", 20, "what the linearizer orders by") + row("DEBUG_RANGEIFY=1", 20, "the ranges of each node of a tensor graph") +
         row("SPEC=1", 20, "verify the tensor graph, the AST and the linear list") + row("SPEC=2", 20, "the same, and what every stage leaves, every node of it") +
         row("IGNORE_OOB=0", 20, "prove that every access stays inside its buffer, with Z3 where bounds do not tell; a counterexample where not") +
         row("NOOPT=1", 20, "no optimizations; more: `tgc help settings`") + "TRACK_MATCH_STATS=1 is `tgc stats`, VIZ=1 is `tgc trace`.\n";
}

std::string exit_codes() {
  return "Exit codes, as diff has them:\n" + row("0", 2, "same, passed, done") + row("1", 2, "different, failed") + row("2", 2, "trouble: usage, an input that cannot be read, a device that is missing");
}

}  // namespace

std::span<const std::string_view> help_topics() { return kTopics; }

void add_help(CLI::App& app, int& exit_code) {
  auto topic = std::make_shared<std::string>();
  CLI::App* cmd = app.add_subcommand("help", "explain a topic: stages, formats, settings, targets, inputs, debug, exit-codes; or a command");
  cmd->add_option("TOPIC", *topic, "a topic or a command");
  cmd->callback([topic, &app, &exit_code] {
    exit_code = 0;
    std::string (*const pages[])() = {stages, formats, settings, targets, inputs, debug, exit_codes};
    for (size_t i = 0; i < std::size(kTopics); i++)
      if (*topic == kTopics[i]) return print(pages[i]());
    if (topic->empty()) return print(app.help() + "\nTopics of `tgc help TOPIC`: stages, formats, settings, targets, inputs, debug, exit-codes.\n");
    std::vector<std::string_view> names(std::begin(kTopics), std::end(kTopics));
    for (const CLI::App* sub : app.get_subcommands({})) {
      if (sub->get_name() == *topic) return print(sub->help());
      names.push_back(sub->get_name());
    }
    std::string near = nearest_names(*topic, names);
    exit_code = trouble({.message = "no help on '" + *topic + "'", .expected = near.empty() ? "one that `tgc help` lists" : near});
  });
}

}  // namespace tgc
