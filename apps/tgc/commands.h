#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

// The commands, in the order of `tgc --help`. A command is defined by add_NAME() in cmd_NAME.cpp or, if the build lacks
// it, in absent_commands.cpp.
#define TGC_COMMANDS(X)                                                                                     \
  X(dump) X(run) X(check) X(verify) X(diff) X(trace) X(stats) X(patterns) X(stages) X(view) X(bisect)       \
  X(reduce) X(fuzz) X(beam) X(bench) X(compile) X(devices) X(cache) X(conform) X(lint) X(prove) X(records)  \
  X(emulate) X(profile) X(lsp) X(completion) X(help)

namespace tgc {

class CliCommand;

#define TGC_DECLARE_COMMAND(name) void add_##name(CliCommand& cmd);
TGC_COMMANDS(TGC_DECLARE_COMMAND)
#undef TGC_DECLARE_COMMAND

std::vector<const CLI::App*> visible_commands(const CLI::App& app);  // returns the commands that --help lists
// Returns the visible command `name`, or null if there is none.
const CLI::App* find_command(const CLI::App& app, std::string_view name);
std::string make_man_page(const CLI::App& app);                            // returns the manual page tgc(1)

std::vector<std::string_view> help_topics();
std::string help_text_on(std::string_view topic);  // returns the text of `tgc help TOPIC`; "": an unknown topic
std::string agents_text();                         // returns the text of python/tgc/AGENTS.md
std::string debug_text(), exit_codes_text(), faults_text(), inputs_text(), recording_text(), upgrades_text();

}  // namespace tgc
