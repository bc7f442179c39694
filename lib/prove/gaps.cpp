#include "lib/prove/gaps.h"

#include <set>

#include "lib/uop/graph.h"

namespace tgc {

std::vector<RewriteSides> graph_difference(UOp before, UOp after, size_t most) {
  std::vector<RewriteSides> out;
  std::vector<RewriteSides> stack{{before, after}};
  std::set<std::pair<uint32_t, uint32_t>> seen;
  while (!stack.empty()) {
    const RewriteSides s = stack.back();
    stack.pop_back();
    if (s.before == s.after || !seen.emplace(s.before.id(), s.after.id()).second) continue;
    const bool is_alike = s.before.op() == s.after.op() && s.before.dtype() == s.after.dtype() &&
                          (s.before.arg() == s.after.arg() || s.before.is(Op::SINK)) &&
                          s.before.num_src() == s.after.num_src() && s.before.num_src() > 0;
    if (is_alike) {
      for (size_t i = 0; i < s.before.num_src(); i++) stack.push_back({s.before.src(i), s.after.src(i)});
    } else {
      out.push_back(s);
      if (out.size() > most) return {{before, after}};
    }
  }
  return out;
}

}  // namespace tgc
