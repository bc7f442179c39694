// tgc help [TOPIC]: topics, and the commands' own help.
#include <CLI/CLI.hpp>

#include "apps/tgc/commands.h"
#include "apps/tgc/terminal.h"
#include "lib/support/settings.h"

namespace tgc {
namespace {

std::string all_topics() {
  std::string out;
  for (std::string_view name : help_topics()) out += (out.empty() ? "" : ", ") + std::string(name);
  return out;
}

// Of a topic or a command; an error names the nearest.
Result<std::string> help_on_word(const CLI::App& app, const std::string& word) {
  std::vector<std::string_view> names = help_topics();
  if (std::find(names.begin(), names.end(), word) != names.end()) return help_on(word);
  if (const CLI::App* command = find_command(app, word)) return command->help("tgc");
  for (const CLI::App* command : commands_of(app))
    if (std::find(names.begin(), names.end(), command->get_name()) == names.end()) names.push_back(command->get_name());
  std::string near = nearest_names(word, names);
  return Diag{.message = "no help on '" + word + "'", .expected = near.empty() ? "one that `tgc help` lists" : near};
}

}  // namespace

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* a) { return !a->get_group().empty(); });
}

const CLI::App* find_command(const CLI::App& app, std::string_view name) {
  for (const CLI::App* command : commands_of(app))
    if (command->get_name() == name) return command;
  return nullptr;
}

void add_help(CLI::App& app, int& exit_code) {
  auto word = std::make_shared<std::string>();
  auto is_man = std::make_shared<bool>(false);
  CLI::App* cmd = app.add_subcommand("help", "explain a topic: " + all_topics() + "; or a command");
  cmd->add_option("TOPIC", *word, "a topic or a command");
  cmd->add_flag("--man", *is_man, "the manual page")->group("");
  cmd->callback([word, is_man, &app, &exit_code] {
    Result<std::string> text = *is_man         ? man_page(app)
                               : word->empty() ? app.help() + "\nTopics of `tgc help TOPIC`: " + all_topics() + ".\n"
                                               : help_on_word(app, *word);
    exit_code = text ? (print(*text), 0) : trouble(text.diag());
  });
}

}  // namespace tgc
