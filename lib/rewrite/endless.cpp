// The message for a rewrite that does not end: rules undo each other's work, a node depends on itself, or nodes grow
// without bound. The rewriter calls it when it reaches a node that it is still visiting, or when too many nodes wait.
// The message names the alternating rules, which it takes from the last rule applications (Workspace::recent).
#include <algorithm>

#include "lib/rewrite/workspace.h"

namespace tgc {
namespace {

// Returns one turn of the cycle: the last rule applications, back to the previous application to the same node. If
// `start` is set, `start` was reached again during its own visit, so it is on the visit stack and all visits above it
// lie on the cycle; then only applications to the nodes of those visits are returned.
std::vector<Workspace::Hit> last_cycle(const Workspace& w, UOp start) {
  auto hit_before = [&](size_t k) { return w.recent[(w.num_hits - 1 - k) % Workspace::kRecent]; };
  std::vector<UOp> visited;
  for (size_t i = w.visits.size(); start && i-- > 0 && (visited.empty() || !(visited.back() == start));)
    visited.push_back(w.visits[i].n);
  std::vector<Workspace::Hit> out;
  for (size_t k = 0; k < std::min(w.num_hits, Workspace::kRecent); k++) {
    Workspace::Hit hit = hit_before(k);
    if (k > 0 && hit.node == hit_before(0).node) break;
    if (visited.empty() || std::find(visited.begin(), visited.end(), hit.node) != visited.end())
      out.insert(out.begin(), hit);
  }
  return out;
}

}  // namespace

void fail_endless(const Workspace& w, std::string_view stage, std::string_view why, UOp start) {
  constexpr size_t kShown = 4;
  Diag diag{"stage '" + std::string(stage) + "' does not end: " + std::string(why)};
  diag.context = "  the rules that alternate:";
  auto cycle = last_cycle(w, start);
  std::vector<const Rule*> seen;
  for (auto [rule, node] : cycle) {
    if (std::find(seen.begin(), seen.end(), rule) != seen.end()) continue;
    seen.push_back(rule);
    diag.context += "\n    " + describe(*rule);
  }
  for (size_t i = cycle.size() - std::min(cycle.size(), kShown); i < cycle.size(); i++)
    diag.context += "\n  " + std::string(cycle[i].rule->name) + " on\n" + describe(cycle[i].node, 3);
  throw Failure(diag);
}

}  // namespace tgc
