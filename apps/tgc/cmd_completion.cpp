// tgc completion SHELL: a script that completes commands, options and the words they take, made from the parser itself.
#include <CLI/CLI.hpp>
#include <map>

#include "apps/tgc/commands.h"
#include "lib/compilation/outputs.h"
#include "apps/tgc/terminal.h"
#include "lib/inspect/rule_catalog.h"
#include "lib/text/formats.h"

namespace tgc {
namespace {

using Words = std::vector<std::string>;

std::string joined(const Words& words, std::string_view between = " ") {
  std::string out;
  for (const std::string& w : words) out += (out.empty() ? "" : std::string(between)) + w;
  return out;
}

// The words that an option of that name takes, where they are a list.
std::map<std::string, Words> word_lists() {
  std::map<std::string, Words> out;
  Words& stages = out["--stage"];
  stages = {"ast"};
  for (const TensorStage& s : tensor_stages()) stages.emplace_back(s.alias);
  for (const Stage& s : kernel_stages()) stages.emplace_back(s.alias);
  for (const OutputStage& o : output_stages()) stages.emplace_back(o.name);
  stages.insert(stages.end(), {"all", "changed"});
  out["--stages"] = out["--from"] = stages;
  for (std::string_view f : format_names()) out["--format"].emplace_back(f);
  for (std::string_view t : known_targets()) out["--target"].emplace_back(t);
  out["--device"] = out["--target"];
  OpSet::all().for_each([&](Op op) { out["--op"].emplace_back(name_of(op)); });
  for (const CatalogSet& s : rule_catalog()) out["--in"].emplace_back(s.name);
  for (const SettingInfo& s : all_settings()) out["--set"].push_back(std::string(s.name) + "=");
  out["--spec"] = {"tensor", "kernel", "program", "full"};
  out["--color"] = {"auto", "always", "never"};
  out["--ignore"] = {"names", "tags", "metadata", "buffers", "order"};
  return out;
}

// Of those, the options that take several words, separated by commas.
bool takes_several(std::string_view option) { return option == "--stage" || option == "--stages" || option == "--ignore"; }

struct Command {
  std::string name, help;
  std::vector<std::pair<std::string, std::string>> options;  // "--stage" and its help
};

std::string first_sentence(std::string text) {
  text = text.substr(0, text.find_first_of(".;:\n"));
  for (char& c : text)
    if (c == '\'' || c == '"' || c == '`' || c == '[' || c == ']' || c == '$' || c == '\\') c = ' ';
  return text;
}

std::vector<Command> commands_of(const CLI::App& app) {
  std::vector<Command> out;
  for (const CLI::App* sub : app.get_subcommands({})) {
    Command c{sub->get_name(), first_sentence(sub->get_description()), {}};
    for (const CLI::Option* o : sub->get_options()) {
      for (const std::string& l : o->get_lnames()) c.options.emplace_back("--" + l, first_sentence(o->get_description()));
      for (const std::string& s : o->get_snames()) c.options.emplace_back("-" + s, first_sentence(o->get_description()));
    }
    out.push_back(std::move(c));
  }
  return out;
}

// Names of options alone.
Words names_of(const Command& c) {
  Words out;
  for (auto& [name, help] : c.options) out.push_back(name);
  return out;
}

std::string bash(const std::vector<Command>& commands, const Words& topics) {
  std::string out =
      "# bash completion of tgc: source <(tgc completion bash)\n"
      "_tgc() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}\n"
      "  [[ $before == = ]] && before=${COMP_WORDS[COMP_CWORD-2]}\n"
      "  [[ $word == = ]] && before=${COMP_WORDS[COMP_CWORD-1]} word=\n"
      "  COMPREPLY=()\n"
      "  case $before in\n";
  for (auto& [option, words] : word_lists())
    out += "    " + option + ") local done=; [[ $word == *,* ]] && done=${word%,*},\n      COMPREPLY=($(compgen -P \"$done\" -W '" + joined(words) +
           "' -- \"${word##*,}\")); " + (option == "--set" ? "compopt -o nospace; " : "") + "return ;;\n";
  out += "  esac\n  if ((COMP_CWORD == 1)); then\n    COMPREPLY=($(compgen -W '";
  for (const Command& c : commands) out += c.name + " ";
  out += "' -- \"$word\"))\n    return\n  fi\n  if [[ $word == -* ]]; then\n    case $command in\n";
  for (const Command& c : commands) out += "      " + c.name + ") COMPREPLY=($(compgen -W '" + joined(names_of(c)) + "' -- \"$word\")) ;;\n";
  out += "    esac\n    return\n  fi\n  case $command in\n    help) COMPREPLY=($(compgen -W '" + joined(topics) +
         "' -- \"$word\")) ;;\n    completion) COMPREPLY=($(compgen -W 'bash zsh fish' -- \"$word\")) ;;\n    *) COMPREPLY=($(compgen -f -- \"$word\")) ;;\n  esac\n}\n"
         "complete -o filenames -F _tgc tgc\n";
  return out;
}

std::string zsh(const std::vector<Command>& commands, const Words& topics) {
  std::string out = "#compdef tgc\n# zsh completion of tgc: tgc completion zsh > \"${fpath[1]}/_tgc\"\n_tgc() {\n  local -a commands options\n  commands=(\n";
  for (const Command& c : commands) out += "    '" + c.name + ":" + c.help + "'\n";
  out += "  )\n  if ((CURRENT == 2)); then _describe command commands; return; fi\n  local before=${words[CURRENT-1]}\n"
         "  [[ ${words[CURRENT]} == --*=* ]] && before=${words[CURRENT]%%=*} && compset -P '--*='\n  case $before in\n";
  for (auto& [option, words] : word_lists())
    out += "    " + option + ") " + (takes_several(option) ? "compset -P '*,'; compadd -- " : option == "--set" ? "compadd -S '' -- " : "compadd -- ") + joined(words) +
           "; return ;;\n";
  out += "  esac\n  case ${words[2]} in\n    help) compadd -- " + joined(topics) + "; return ;;\n    completion) compadd -- bash zsh fish; return ;;\n";
  for (const Command& c : commands) {
    out += "    " + c.name + ") options=(";
    for (auto& [name, help] : c.options) out += " '" + name + ":" + help + "'";
    out += ") ;;\n";
  }
  out += "  esac\n  if [[ ${words[CURRENT]} == -* ]]; then _describe option options; else _files; fi\n}\n"
         "if [[ $funcstack[1] == _tgc ]]; then _tgc \"$@\"; else compdef _tgc tgc; fi\n";
  return out;
}

std::string fish(const std::vector<Command>& commands, const Words& topics) {
  std::string out = "# fish completion of tgc: tgc completion fish > ~/.config/fish/completions/tgc.fish\n";
  auto lists = word_lists();
  auto function_of = [](const std::string& option) { return "__tgc_" + option.substr(2); };
  for (auto& [option, words] : lists)
    if (takes_several(option)) out += "function " + function_of(option) + "; printf '%s\\n' " + joined(words) + "; end\n";
  for (const Command& c : commands) {
    out += "complete -c tgc -n __fish_use_subcommand -f -a " + c.name + " -d '" + c.help + "'\n";
    for (auto& [name, help] : c.options) {
      bool is_long = name.starts_with("--");
      out += "complete -c tgc -n '__fish_seen_subcommand_from " + c.name + "' " + (is_long ? "-l " + name.substr(2) : "-s " + name.substr(1));
      if (auto list = lists.find(name); list != lists.end()) 
        out += " -x -a '" + (takes_several(name) ? "(__fish_complete_list , " + function_of(name) + ")" : joined(list->second)) + "'";
      out += " -d '" + help + "'\n";
    }
  }
  return out + "complete -c tgc -n '__fish_seen_subcommand_from help' -f -a '" + joined(topics) +
         "'\ncomplete -c tgc -n '__fish_seen_subcommand_from completion' -f -a 'bash zsh fish'\n";
}

}  // namespace

void add_completion(CLI::App& app, int& exit_code) {
  auto shell = std::make_shared<std::string>();
  CLI::App* cmd = app.add_subcommand("completion", "print a script that completes tgc's commands, options, stages, targets, settings, in a shell");
  cmd->add_option("SHELL", *shell, "bash, zsh or fish")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
  cmd->callback([shell, &app, &exit_code] {
    auto commands = commands_of(app);
    Words topics;
    for (std::string_view t : help_topics()) topics.emplace_back(t);
    print(*shell == "bash" ? bash(commands, topics) : *shell == "zsh" ? zsh(commands, topics) : fish(commands, topics));
    exit_code = 0;
  });
}

}  // namespace tgc
