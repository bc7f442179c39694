#include "lib/rewrite/shortcut.h"

#include <algorithm>
#include <tuple>

#include "lib/rewrite/rules.h"
#include "lib/rewrite/workspace.h"

namespace tgc {
namespace {

// Returns the list of all shortcuts. The list is a local static object, so that it exists before the first Shortcut.
std::vector<const Shortcut*>& shortcut_list() {
  static std::vector<const Shortcut*> all;
  return all;
}

}  // namespace

Shortcut::Shortcut(std::string_view name, std::string_view saves, const char* file, uint32_t line)
    : name(name), saved_work_text(saves), file(short_file_name(file)), line(line) {
  shortcut_list().push_back(this);
}

std::vector<const Shortcut*> all_shortcuts() {
  auto out = shortcut_list();
  std::ranges::sort(out, {}, [](const Shortcut* s) { return std::tuple(s->file, s->line); });
  return out;
}

void set_shortcut_trial(Graph& graph, ShortcutTrial* trial) { graph.extension<RewriteState>().trial = trial; }

ShortcutTrial* shortcut_trial_of(Graph& graph) { return graph.extension<RewriteState>().trial; }

detail::ShortcutChoice detail::choose_way(Graph& graph, const Shortcut& what) {
  return graph.extension<RewriteState>().choose_way(what);
}

}  // namespace tgc
