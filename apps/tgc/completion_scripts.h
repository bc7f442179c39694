// A script calls `tgc complete -- WORDS` with the words up to the cursor and offers the answer's lines, "candidate" or
// "candidate<tab>help", or file names if there is no answer.
#pragma once
#include <string_view>

namespace tgc {

// bash starts a new word after = and :, so the script removes from each candidate what the user typed up to the last =
// or :.
inline constexpr std::string_view kBashScript = R"sh(# bash completion of tgc: source <(tgc completion bash)
_tgc() {
  local line=${COMP_LINE:0:COMP_POINT} words typed IFS=$' \t\n'
  read -ra words <<<"$line"
  [[ $line == *' ' ]] && words+=('')
  typed=${words[-1]}
  IFS=$'\n'
  COMPREPLY=($("${words[0]/#\~/$HOME}" complete -- "${words[@]:1}" 2>/dev/null | cut -f1))
  COMPREPLY=("${COMPREPLY[@]#"${typed%"${typed##*[=:]}"}"}")
  [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace
}
complete -o default -F _tgc tgc
)sh";

inline constexpr std::string_view kZshScript = R"sh(#compdef tgc
# zsh completion of tgc: tgc completion zsh > "${fpath[1]}/_tgc"
_tgc() {
  local -a found
  found=("${(@f)$($~words[1] complete -- "${(@)words[2,CURRENT-1]}" "$PREFIX" 2>/dev/null)}")
  [[ -z $found ]] && { _files; return; }
  found=("${(@)found//:/\\:}")
  found=("${(@)found/$'\t'/:}")
  [[ $found[1] == *= ]] && _describe tgc found -S '' || _describe tgc found
}
if [[ $funcstack[1] == _tgc ]]; then _tgc "$@"; else compdef _tgc tgc; fi
)sh";

inline constexpr std::string_view kFishScript =
    R"sh(# fish completion of tgc: tgc completion fish > ~/.config/fish/completions/tgc.fish
function __tgc_complete
  set -l typed (commandline -opc) (commandline -ct)
  set -l found ($typed[1] complete -- $typed[2..] 2>/dev/null)
  if count $found >/dev/null; printf '%s\n' $found; else; __fish_complete_path (commandline -ct); end
end
complete -c tgc -f -a '(__tgc_complete)'
)sh";

}  // namespace tgc
