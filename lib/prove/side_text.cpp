#include "lib/prove/side_text.h"

#include "lib/uop/graph.h"
#include "lib/uop/render.h"

namespace tgc {
namespace {

std::string render_named(UOp u) {
  if (u.is(Op::DEFINE_GLOBAL)) return "data" + std::to_string(u.arg().small_int());
  std::string out;
  for (size_t i = 0; i < u.num_src(); i++) out += (i ? ", " : "") + render(u.src(i), false, render_named);
  return std::string(name_of(u.op())) + "(" + out + ")";
}

}  // namespace

std::string text_of(UOp u) {
  constexpr size_t kMost = 400;
  std::string out = render(u, false, render_named);
  return out.size() > kMost ? out.substr(0, kMost) + "..." : out;
}

std::string leaf_bounds_text(UOp root) {
  std::string out;
  for (UOp u : toposort(root)) {
    if (!u.in({Op::DEFINE_GLOBAL, Op::DEFINE_VAR, Op::RANGE})) continue;
    const bool is_memory = u.is(Op::DEFINE_GLOBAL);
    out += out.empty() ? "" : ", ";
    out += is_memory ? "data" + std::to_string(u.arg().small_int()) : text_of(u);
    if (is_memory) out += " " + std::string(u.dtype().base().name());
    else out += " " + u.vmin().str() + ".." + u.vmax().str();
  }
  return out;
}

}  // namespace tgc
