// The topics of `tgc help`: what no single command's --help says.
#include <initializer_list>
#include <set>

#include "apps/tgc/commands.h"
#include "apps/tgc/help_faults.h"
#include "apps/tgc/help_recording.h"
#include "lib/beam/beam_settings.h"
#include "lib/compilation/stage_rows.h"
#include "lib/support/limits.h"
#include "lib/text/formats.h"

namespace tgc {
namespace {

std::string row(std::string_view a, size_t width, std::string_view b) {
  std::string out = "  " + std::string(a);
  out.resize(std::max(out.size() + 2, width + 4), ' ');
  return out + std::string(b) + "\n";
}

// Rows below each other, the first column as wide.
std::string rows(size_t width, std::initializer_list<std::pair<std::string_view, std::string_view>> list) {
  std::string out;
  for (auto& [a, b] : list) out += row(a, width, b);
  return out;
}

std::string stages() {
  std::string out =
      "Stages, in order, by tinygrad's names. --stage takes a name in any case, its slug (post-index-symbolic) or the\n"
      "alias in the second column; a list a,b; a span a..b, a.. or ..b; all; changed (those that changed the\n"
      "graph).\n\n"
      "Of a tensor graph:\n";
  auto of_level = [&](std::string_view level) {
    for (const StageRow& s : stage_rows())
      if (s.level() == level) out += row(s.name, 32, s.is_graph_stage() ? s.alias : s.help);
  };
  of_level("tensor");
  out += "\nOf a kernel:\n";
  of_level("kernel");
  out += "\nMade of the last graph:\n";
  of_level("program");
  return out + "\n`tgc stages` adds how many rules each has, `tgc patterns --stage=S` lists them.\n";
}

std::string formats() {
  std::string out =
      "Formats that --format takes and that every command reads back (but nodes and dot); which one an input is in is\n"
      "found from its content:\n";
#define X(id, name, extension, about) out += row(name, 10, std::string(about) + " (." extension ")");
  TGC_FORMATS(X)
#undef X
  return out;
}

std::string settings() {
  std::string out =
      "Settings, by the names of tinygrad's environment variables. --set NAME=VALUE comes first, then what a golden\n"
      "file or JSON says it was made with, then the environment, then the default:\n";
  for (const SettingInfo& s : all_settings())
    out += row(std::string(s.name) + "=" + std::to_string(s.default_value), 32, s.help);
  return out;
}

std::string limits() {
  std::string out(kAboutLimits);
  for (const LimitInfo& l : all_limits())
    out += row(std::string(l.name) + "=" + std::to_string(l.default_value), 24, l.help);
  return out + "--allow-custom compiles and runs the code that CUSTOM and CUSTOMI nodes hold; dump shows it without.\n";
}

std::string targets() {
  std::string out =
      "Targets, DEVICE:RENDERER[:ARCH]; parts that are left out take the device's default. No such device is needed\n"
      "to compile for it:\n";
  std::set<std::string> devices;
  std::string defaults;
  for (std::string_view t : known_targets()) {
    out += "  " + std::string(t) + "\n";
    std::string device(t.substr(0, t.find(':')));
    if (auto whole = parse_target(device, Settings()); whole && devices.insert(device).second)
      defaults += row(device, 8, whole->name());
  }
  return out + "A device alone is:\n" + defaults +
         "What runs without more said (`tgc run`, bisect, reduce), and --device=CPU there, is CPU:LLVM.\n";
}

std::string inputs() {
  return "INPUT is a file or - (standard input). Its kind is found from its content, never from its name:\n" +
         rows(10, {{"pyrender", "tinygrad's pyrender text, of a kernel or a tensor graph"},
                   {"repr", "what print(uop) shows in tinygrad"},
                   {"uops", "a print_uops listing"},
                   {"json", "tgc's own"},
                   {"golden", "records of tinygrad_export.py, plain or gzip; FILE#ID or --kernel=N picks one"},
                   {"onnx", "an ONNX model"},
                   {"trace", "of `tgc trace` alone: what `tgc trace -o` wrote"}}) +
         "A graph that a stage left (tgc dump -o DIR) goes on after that stage; --from=STAGE says so of a text that\n"
         "does not.\n";
}

std::string debug() {
  return "tinygrad's environment variables work as they do there, with `tgc dump` and `tgc run`; what they print goes\n"
         "to standard error:\n" +
         rows(20, {{"DEBUG=1", "how many kernels were scheduled"},
                   {"DEBUG=2", "a line per kernel; of run with its time and rates"},
                   {"DEBUG=3", "the optimizer's list"},
                   {"DEBUG=4", "the source"},
                   {"DEBUG=5", "the AST, as pyrender text"},
                   {"DEBUG=6", "the linear list, as print_uops shows it"},
                   {"DEBUG=7", "the machine code, disassembled"},
                   {"DEBUG_LINEARIZE=1", "what the linearizer orders by"},
                   {"DEBUG_RANGEIFY=1", "the ranges of each node of a tensor graph"},
                   {"SPEC=1", "verify the tensor graph, the AST and the linear list"},
                   {"SPEC=2", "the same, and what every stage leaves, every node of it"},
                   {"IGNORE_OOB=0", "prove that every access stays in its buffer, with Z3 where bounds do not tell"},
                   {"NOOPT=1", "no optimizations; more: `tgc help settings`"}}) +
         "TRACK_MATCH_STATS=1 is `tgc stats`, VIZ=1 is `tgc trace`.\n";
}

std::string exit_codes() {
  return "Exit codes, as diff has them:\n" +
         rows(2, {{"0", "same, passed, done"}, {"1", "different, failed"},
                  {"2", "trouble: usage, an input that cannot be read, a device that is missing"}});
}

struct Topic {
  std::string_view name;
  std::string (*text)();
};
constexpr Topic kTopics[] = {
    {"stages", stages}, {"formats", formats}, {"settings", settings}, {"targets", targets}, {"inputs", inputs},
    {"recording", recording_text}, {"debug", debug}, {"exit-codes", exit_codes}, {"faults", faults_text},
    {"limits", limits}, {"beam", beam_variables_text}};

}  // namespace

std::vector<std::string_view> help_topics() {
  std::vector<std::string_view> out;
  for (const Topic& t : kTopics) out.push_back(t.name);
  return out;
}

std::string help_on(std::string_view topic) {
  for (const Topic& t : kTopics)
    if (t.name == topic) return t.text();
  return "";
}

}  // namespace tgc
