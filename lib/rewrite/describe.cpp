#include "lib/rewrite/rewrite.h"
#include "lib/uop/graph.h"

namespace tgc {

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
