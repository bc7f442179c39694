#include <set>

#include "apps/tgc/commands.h"
#include "lib/beam/beam_settings.h"
#include "lib/compilation/stage_rows.h"
#include "lib/support/ci_report.h"
#include "lib/support/limits.h"
#include "lib/support/log.h"
#include "lib/text/formats.h"

namespace tgc {
namespace {

std::string help_row(std::string_view a, size_t width, std::string_view b) {
  std::string out = "  " + std::string(a);
  out.resize(std::max(out.size() + 2, width + 4), ' ');
  return out + std::string(b) + "\n";
}

std::string stages_text() {
  std::string out =
      "The stages in order, by tinygrad's names. --stage takes a name in any case, its slug (post-index-symbolic) or\n"
      "its alias (the second column); a list a,b; a span a..b, a.. or ..b; all; changed (those that changed the\n"
      "graph).\n\n"
      "Of tensor graphs:\n";
  auto of_level = [&](std::string_view level) {
    for (const StageRow& s : stage_rows()) {
      if (s.level() != level) continue;
      std::string alias(s.is_graph_stage() ? s.alias : "");
      if (!alias.empty()) alias.resize(std::max<size_t>(alias.size() + 1, 15), ' ');
      out += help_row(s.name, 32, alias + std::string(s.help_text));
    }
  };
  of_level("tensor");
  out += "\nOf kernels:\n";
  of_level("kernel");
  out += "\nMade from the last graph:\n";
  of_level("program");
  return out + "\n`tgc stages` counts the rules of each, `tgc patterns --stage=S` lists them.\n"
               "`tgc stages RECORDING` lists those of a recording, which may be of another tinygrad release.\n";
}

std::string formats_text() {
  std::string out =
      "Formats of --format. Every command reads them back, except nodes and dot; the format of an input is found from\n"
      "its content:\n";
#define X(id, name, extension, about) out += help_row(name, 10, std::string(about) + " (." extension ")");
  TGC_FORMATS(X)
#undef X
  return out;
}

std::string settings_text() {
  std::string out =
      "Settings have the names of tinygrad's environment variables. A value comes from --set NAME=VALUE, else from\n"
      "the settings in a golden file or JSON, else from the environment, else it is the default:\n";
  for (const SettingInfo& s : all_settings())
    out += help_row(std::string(s.name) + "=" + std::to_string(s.default_value), 32, s.help_text);
  return out;
}

std::string limits_text() {
  std::string out(kLimitsHelp);
  for (const LimitInfo& l : all_limits())
    out += help_row(std::string(l.name) + "=" + std::to_string(l.default_value), 24, l.help_text);
  return out + "The code in CUSTOM and CUSTOMI nodes is compiled and run only with --allow-custom.\n";
}

std::string targets_text() {
  std::string out =
      "Targets are DEVICE:RENDERER[:ARCH]; a missing part takes the device's default. Compiling for a device does not\n"
      "need the device:\n";
  std::set<std::string> devices;
  std::string defaults;
  for (std::string_view t : known_targets()) {
    out += "  " + std::string(t) + "\n";
    std::string device(t.substr(0, t.find(':')));
    if (auto whole = parse_target(device, Settings()); whole && devices.insert(device).second)
      defaults += help_row(device, 8, whole->name());
  }
  return out + "A device alone means:\n" + defaults +
         "`tgc run`, bisect and reduce use CPU:LLVM by default and for --device=CPU.\n";
}

struct HelpTopic {
  std::string_view name;
  std::string (*text)();
};
constexpr HelpTopic kTopics[] = {
    {"stages", stages_text},       {"formats", formats_text}, {"settings", settings_text},
    {"targets", targets_text},     {"inputs", inputs_text},   {"recording", recording_text},
    {"upgrades", upgrades_text},   {"debug", debug_text},     {"exit-codes", exit_codes_text},
    {"faults", faults_text},       {"limits", limits_text},   {"log", log_help_text},
    {"beam", beam_variables_text}, {"ci", ci_help_text},      {"agents", agents_text}};

}  // namespace

std::vector<std::string_view> help_topics() {
  std::vector<std::string_view> out;
  for (const HelpTopic& t : kTopics) out.push_back(t.name);
  return out;
}

std::string help_text_on(std::string_view topic) {
  for (const HelpTopic& t : kTopics)
    if (t.name == topic) return t.text();
  return "";
}

}  // namespace tgc
