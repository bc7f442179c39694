// Makes the error message for a rewrite that does not end, and the texts of nodes in messages.

#include "lib/rewrite/workspace.h"

#include <algorithm>

namespace tgc {

namespace {

// Returns the recent rule applications; if the node of the last one was rewritten before, only those after that, which
// are one turn of the cycle. If `start` is set, the visit of `start` led to `start` again, so the nodes of the visit
// stack from `start` on form the cycle; then only applications to these nodes are returned.
std::vector<RewriteWorkspace::RewriteHit> last_cycle(const RewriteWorkspace& w, UOp start) {
  auto hit_before = [&](size_t k) { return w.recent_hits[(w.num_hits - 1 - k) % RewriteWorkspace::kMaxRecentHits]; };
  std::vector<UOp> visited;
  for (size_t i = w.node_visits.size(); start && i-- > 0 && (visited.empty() || !(visited.back() == start));)
    visited.push_back(w.node_visits[i].node);
  std::vector<RewriteWorkspace::RewriteHit> out;
  for (size_t k = 0; k < std::min(w.num_hits, RewriteWorkspace::kMaxRecentHits); k++) {
    RewriteWorkspace::RewriteHit hit = hit_before(k);
    if (k > 0 && hit.node == hit_before(0).node) break;
    if (visited.empty() || std::find(visited.begin(), visited.end(), hit.node) != visited.end())
      out.insert(out.begin(), hit);
  }
  return out;
}

}  // namespace

void fail_endless_rewrite(const RewriteWorkspace& w, std::string_view stage, std::string_view why, UOp start) {
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

std::string describe(UOp root, int depth) {
  std::string out;
  struct Frame {
    UOp u;
    int level;
  };
  std::vector<Frame> stack{{root, 0}};
  int lines = 0;
  while (!stack.empty()) {
    auto [u, level] = stack.back();
    stack.pop_back();
    if (++lines > 40) return out + "    ...";
    out += std::string(size_t(4 + 2 * level), ' ') + "Ops." + std::string(name_of(u.op())) + " " +
           std::string(u.dtype().repr());
    if (!u.arg().is_none()) out += " " + u.arg().repr();
    if (level >= depth && u.num_src()) out += " ...";
    if (!stack.empty() || level < depth) out += "\n";
    if (level < depth)
      for (size_t i = u.num_src(); i-- > 0;) stack.push_back({u.src(i), level + 1});
  }
  while (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

}  // namespace tgc
