// The order of nodes (ops.py tuplize) and their keys (ops.py key).
#include <vector>

#include "lib/uop/bottom_up.h"
#include "lib/uop/facts.h"
#include "lib/uop/graph.h"

namespace tgc {
namespace {

Order compare_head(UOp a, UOp b) {
  if (a.op() != b.op()) return a.op() < b.op() ? Order::Less : Order::Greater;
  if (!(a.arg() == b.arg()))
    if (Order o = py_compare(a.arg(), b.arg()); o != Order::Equal) return o;
  if (a.dtype() != b.dtype()) return a.dtype() < b.dtype() ? Order::Less : b.dtype() < a.dtype() ? Order::Greater : Order::Unordered;
  return Order::Equal;
}

}  // namespace

Order compare_tuplize(UOp a, UOp b) {
  // depth first along the first difference; equal nodes are the same node unless their tags differ, so the walk stays on one path
  struct Frame {
    UOp a, b;
    uint32_t next;
  };
  if (a == b) return Order::Equal;
  if (Order o = compare_head(a, b); o != Order::Equal) return o;
  std::vector<Frame> stack{{a, b, 0}};
  while (!stack.empty()) {
    auto& [x, y, next] = stack.back();
    size_t common = std::min(x.num_src(), y.num_src());
    while (next < common && x.src(next) == y.src(next)) next++;
    if (next == common) {
      if (x.num_src() != y.num_src()) return x.num_src() < y.num_src() ? Order::Less : Order::Greater;
      stack.pop_back();
      continue;
    }
    UOp s = x.src(next), t = y.src(next);
    next++;
    if (Order o = compare_head(s, t); o != Order::Equal) return o;
    stack.push_back({s, t, 0});
  }
  return Order::Equal;
}

Sha256 key_of(UOp u) {
  UOpMap<Sha256> keys(u.graph());
  bottom_up(
      u, [&](UOp x) { return keys.contains(x); }, [](UOp) { return true; },
      [&](UOp x) {
        std::string text = "(Ops." + std::string(name_of(x.op())) + ", " + std::string(x.dtype().repr()) + ", ";
        x.arg().append_repr(text);
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
