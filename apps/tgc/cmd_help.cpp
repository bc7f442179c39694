#include "apps/tgc/command.h"
#include "lib/support/settings.h"

namespace tgc {
namespace {

std::string all_topics() {
  std::string out;
  for (std::string_view name : help_topics()) out += (out.empty() ? "" : ", ") + std::string(name);
  return out;
}

// Returns the text of `tgc --help`, followed by the topics. app.help() would return the help of the given command.
std::string help_on_tgc(const CLI::App& app) {
  return app.get_formatter()->make_help(&app, "tgc", CLI::AppFormatMode::Normal) + "\nTopics of `tgc help TOPIC`: " +
         all_topics() + ".\n";
}

// The error for an unknown word names the nearest topics and commands.
Result<std::string> help_on_word(const CLI::App& app, const std::string& word) {
  std::vector<std::string_view> names = help_topics();
  if (std::find(names.begin(), names.end(), word) != names.end()) return help_text_on(word);
  if (const CLI::App* command = find_command(app, word)) return command->help("tgc");
  for (const CLI::App* command : visible_commands(app))
    if (std::find(names.begin(), names.end(), command->get_name()) == names.end()) names.push_back(command->get_name());
  std::string near = nearest_names_text(word, names);
  return Diag{.message = "no help on '" + word + "'",
              .expected = (near.empty() ? "" : near + ", or ") + "one that `tgc help` lists"};
}

}  // namespace

std::vector<const CLI::App*> visible_commands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* a) { return !a->get_group().empty(); });
}

const CLI::App* find_command(const CLI::App& app, std::string_view name) {
  for (const CLI::App* command : visible_commands(app))
    if (command->get_name() == name) return command;
  return nullptr;
}

void add_help(CliCommand& cmd) {
  struct Options {
    std::string word;
    bool man = false;
  };
  auto& o = cmd.make_owned_value<Options>();
  cmd.set_description("Explain a command or a topic.", "tgc help stages", "Topics: " + all_topics() + ".");
  cmd.add_positional("TOPIC", o.word, "a topic or a command; default: list both");
  cmd.add_cli_flag("--man", o.man, "print the manual page")->group("");
  cmd.set_action([&o, &app = *cmd->get_parent()] {
    Result<std::string> text = o.man            ? make_man_page(app)
                               : o.word.empty() ? help_on_tgc(app)
                                                : help_on_word(app, o.word);
    return text ? (print_output(*text), 0) : report_error(text.diag());
  });
}

}  // namespace tgc
