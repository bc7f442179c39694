// Prints a script by which the shell calls `tgc complete -- WORDS` at each TAB, and answers these calls.
#include "apps/tgc/command.h"
#include "apps/tgc/completion_scripts.h"
#include "lib/compilation/stage_rows.h"
#include "lib/rules/rule_catalog.h"
#include "lib/text/formats.h"

namespace tgc {
namespace {

using CompletionWords = std::vector<std::string>;

const CompletionWords kShells = {"bash", "zsh", "fish"};

// Returns the words that complete an option's value; an empty list if there are none.
CompletionWords words_of_option(std::string_view option) {
  CompletionWords out;
  auto add_names = [&](auto&& rows) {
    for (auto&& row : rows) out.emplace_back(row.name);
  };
  if (option == "--spec") return {"tensor", "kernel", "program", "full"};
  if (option == "--color") return {"auto", "always", "never"};
  if (option == "--ignore") return {"names", "tags", "metadata", "buffers", "order"};
  if (option == "--format") return {format_names().begin(), format_names().end()};
  if (option == "--target" || option == "--device") return {known_targets().begin(), known_targets().end()};
  if (option == "--in") add_names(rule_catalog());
  if (option == "--op") OpSet::all().for_each([&](Op op) { out.emplace_back(name_of(op)); });
  if (option == "--set") {
    for (const SettingInfo& s : all_settings()) out.push_back(std::string(s.name) + "=");
  } else if (option == "--stage" || option == "--stages" || option == "--from") {
    out = {"all", "changed"};
    for (const StageRow& row : stage_rows()) out.emplace_back(row.is_graph_stage() ? row.alias : row.name);
  }
  return out;
}

std::string first_sentence(const std::string& text) { return text.substr(0, text.find_first_of(".;:\n")); }

// The completions of the last word that was typed, one per line, each with a tab and a help text if there is one.
// `before` is the part of the word that is not completed, such as "--stage=expand,".
class CompletionCandidates {
 public:
  CompletionCandidates(std::string before, std::string_view typed)
      : kept_text_(std::move(before)), typed_prefix_(typed) {}
  void add_if_matching(const std::string& word, const std::string& help = "") {
    if (word.starts_with(typed_prefix_)) text_ += kept_text_ + word + (help.empty() ? "" : "\t" + help) + "\n";
  }
  const std::string& text() const { return text_; }

 private:
  std::string kept_text_, text_;
  std::string_view typed_prefix_;
};

void add_options(CompletionCandidates& to, const CLI::App& command) {
  for (const CLI::Option* o : command.get_options()) {
    if (o->get_group().empty()) continue;
    for (const std::string& name : o->get_lnames())
      to.add_if_matching("--" + name, first_sentence(o->get_description()));
    for (const std::string& name : o->get_snames())
      to.add_if_matching("-" + name, first_sentence(o->get_description()));
  }
}

void add_commands(CompletionCandidates& to, const CLI::App& app) {
  for (const CLI::App* c : visible_commands(app))
    to.add_if_matching(c->get_name(), first_sentence(c->get_description()));
}

std::string completions_text(const CLI::App& app, const CompletionWords& words) {
  std::string_view typed = words.back();
  const CLI::App* command = words.size() > 1 ? find_command(app, words[0]) : nullptr;
  size_t equals = typed.starts_with("--") ? typed.find('=') : std::string_view::npos;
  bool is_joined = equals != std::string_view::npos;  // true for --stage=expand, false for --stage expand
  CompletionWords values;
  if (command)
    values = words_of_option(is_joined ? typed.substr(0, equals) : std::string_view(words[words.size() - 2]));
  if (!values.empty()) {
    size_t from = typed.find_last_of(is_joined ? "=," : ",") + 1;  // complete only the last item of a list a,b
    CompletionCandidates out(std::string(typed.substr(0, from)), typed.substr(from));
    for (const std::string& value : values) out.add_if_matching(value);
    return out.text();
  }
  CompletionCandidates out("", typed);
  if (typed.starts_with('-')) {
    add_options(out, command ? *command : app);
  } else if (!command) {
    add_commands(out, app);
  } else if (command->get_name() == "help") {
    for (std::string_view topic : help_topics()) out.add_if_matching(std::string(topic));
    add_commands(out, app);
  } else if (command->get_name() == "completion") {
    for (const std::string& shell : kShells) out.add_if_matching(shell);
  }
  return out.text();
}

}  // namespace

void add_completion(CliCommand& cmd) {
  auto& shell = cmd.make_owned_value<std::string>();
  cmd.set_description("Print a shell script that completes tgc's commands and options.",
                      "source <(tgc completion bash)");
  cmd.add_positional("SHELL", shell, "bash, zsh or fish")->required()->check(CLI::IsMember(kShells));
  cmd.set_action([&shell] {
    return print_output(shell == "bash" ? kBashScript : shell == "zsh" ? kZshScript : kFishScript), 0;
  });

  CLI::App& app = *cmd->get_parent();
  auto words = std::make_shared<CompletionWords>();
  CLI::App* asked = app.add_subcommand("complete", "answers those scripts at each TAB")->group("");
  asked->add_option("WORD", *words, "the words after tgc up to the cursor")->required();
  asked->callback([words, &app] { print_output(completions_text(app, *words)); });
}

}  // namespace tgc
