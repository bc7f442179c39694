#include "lib/bisect/opened_loop.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "lib/compilation/rewrite_log.h"
#include "lib/import/import_sides.h"
#include "lib/uop/graph.h"

namespace tgc {
namespace {

// Returns the RANGEs that are open at `root`: `root` runs within their loops. Like UOp._ranges in uop/ops.py, but only
// the ops kEnds end loops.
std::vector<UOp> open_loops(UOp root) {
  constexpr OpSet kEnds{Op::END, Op::REDUCE, Op::STAGE, Op::BUFFERIZE};
  std::unordered_map<UOp, std::vector<UOp>> open;
  auto add = [](std::vector<UOp>& to, const std::vector<UOp>& more) {
    for (UOp r : more)
      if (!std::ranges::count(to, r)) to.push_back(r);
  };
  for (UOp u : toposort(root)) {
    std::vector<UOp> out;
    for (UOp s : u.src()) add(out, open.at(s));
    if (u.in(kEnds) && u.num_src())
      for (UOp s : u.src().subspan(1))
        for (UOp r : open.at(s)) std::erase(out, r);
    if (u.is(Op::RANGE)) out.push_back(u);
    open[u] = std::move(out);
  }
  return open.at(root);
}

}  // namespace

UOp find_opened_loop(UOp before, UOp after) {
  constexpr OpSet kExpanded{Op::UNROLL, Op::CONTRACT, Op::WMMA};
  if (!before || !after) return {};
  const std::vector<UOp> known = open_loops(before), nodes = toposort(before);
  if (std::ranges::any_of(toposort(after), [&](UOp u) { return u.in(kExpanded); })) return {};
  for (UOp r : open_loops(after))
    if (!std::ranges::count(known, r) && std::ranges::count(nodes, r) && !is_expanded_range(r)) return r;
  return {};
}

const Rewrite* rewrite_that_opens_loop(std::span<const Rewrite> rewrites) {
  for (const Rewrite& m : rewrites)
    if (!m.is_discarded && !(m.before.dtype() == dtypes::void_) && find_opened_loop(m.before, m.after)) return &m;
  return nullptr;
}

}  // namespace tgc
