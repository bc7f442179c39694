#include "apps/tgc/options.h"
#include "lib/compare/stage_list.h"

namespace tgc {

void add_stages(CliCommand& cmd) {
  struct Options {
    std::string recording;
    bool json = false;
    CompileOverrides overrides;
  };
  auto& o = cmd.make_owned_value<Options>();
  cmd.set_description("List the stages of the pipeline in order: name, alias, level and number of rules.", "tgc stages",
                      "Of an input: its stages, and in how many of its graphs each changed the graph.");
  cmd.add_positional("INPUT", o.recording, "list the stages of this input instead; of a recording, those that it has");
  cmd.set_group(OptionGroup::Output);
  cmd.add_json_flag(o.json);
  add_pipeline_options(cmd, o.overrides);
  cmd.set_action([&o] {
    if (o.recording.empty()) return (o.json ? print_output(stage_list_json()) : print_report(stage_list_text())), 0;
    auto list = require_value(list_recorded_stages(make_terminal_session(o.overrides), o.recording));
    return print_report(o.json ? list.json() : list.text()), 0;
  });
}

}  // namespace tgc
