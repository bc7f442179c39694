#include <vector>

#include "lib/uop/bottom_up.h"
#include "lib/uop/facts.h"
#include "lib/uop/graph.h"
#include "lib/uop/release.h"

namespace tgc {
namespace {

inline bool op_sorts_before(UOp a, UOp b) {
  if (const Graph& graph = a.graph(); graph.is_foreign()) [[unlikely]]
    return op_order_of(graph.release(), a.op()) < op_order_of(graph.release(), b.op());
  return a.op() < b.op();
}

}  // namespace

Order compare_without_sources(UOp a, UOp b) {
  if (a.op() != b.op()) return op_sorts_before(a, b) ? Order::Less : Order::Greater;
  Arg x = a.arg(), y = b.arg();
  if (x.kind() == Arg::Kind::Int && y.kind() == Arg::Kind::Int) {
    if (x.small_int() != y.small_int()) return x.small_int() < y.small_int() ? Order::Less : Order::Greater;
  } else if (Order o = py_compare(x, y); o != Order::Equal) {
    return o;
  }
  if (a.dtype() != b.dtype())
    return a.dtype() < b.dtype() ? Order::Less : b.dtype() < a.dtype() ? Order::Greater : Order::Unordered;
  return Order::Equal;
}

namespace {

// Returns the first index >= i at which the sources of `a` and `b` differ. If there is no such index, returns the
// number of sources of the node that has fewer sources.
inline size_t first_different_source(UOp a, UOp b, size_t i) {
  size_t common = std::min(a.num_src(), b.num_src());
  while (i < common && a.src(i) == b.src(i)) i++;
  return i;
}

Order compare_sources(UOp a, UOp b) {
  struct Frame {
    UOp a, b;
    size_t next_source;
  };
  std::vector<Frame> stack{{a, b, 0}};
  while (!stack.empty()) {
    auto& [x, y, next] = stack.back();
    size_t i = first_different_source(x, y, next);
    if (i == std::min(x.num_src(), y.num_src())) {
      if (x.num_src() != y.num_src()) return x.num_src() < y.num_src() ? Order::Less : Order::Greater;
      stack.pop_back();
      continue;
    }
    next = i + 1;
    UOp s = x.src(i), t = y.src(i);
    if (Order o = compare_without_sources(s, t); o != Order::Equal) return o;
    stack.push_back({s, t, 0});
  }
  return Order::Equal;
}

}  // namespace

Order compare_tuplize(UOp a, UOp b) {
  // The first pair of different sources decides, unless the two sources differ only in tags. So compare this pair, then
  // its first pair of different sources, and so on.
  UOp x = a, y = b;
  while (!(x == y)) {
    if (Order o = compare_without_sources(x, y); o != Order::Equal) return o;
    size_t i = first_different_source(x, y, 0);
    if (i == std::min(x.num_src(), y.num_src())) {
      if (x.num_src() != y.num_src()) return x.num_src() < y.num_src() ? Order::Less : Order::Greater;
      return compare_sources(a, b);
    }
    UOp s = x.src(i), t = y.src(i);
    x = s, y = t;
  }
  return Order::Equal;
}

Sha256 key_of(UOp u) {
  UOpMap<Sha256> keys(u.graph());
  compute_bottom_up(
      u, [&](UOp x) { return keys.contains(x); }, [](UOp) { return true; },
      [&](UOp x) {
        std::string text = "(Ops." + std::string(printed_op_name(x)) + ", " + std::string(x.dtype().repr()) + ", ";
        printed_arg(x).append_repr(text);
        text += ')';
        for (UOp s : x.src()) {
          const Sha256& key = *keys.find(s);
          text.append(reinterpret_cast<const char*>(key.data()), key.size());
        }
        keys[x] = sha256(text);
      });
  return *keys.find(u);
}

}  // namespace tgc
