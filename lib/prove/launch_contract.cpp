#include "lib/prove/launch_contract.h"

#include "lib/rewrite/rewrite.h"
#include "lib/uop/facts.h"
#include "lib/uop/graph.h"

namespace tgc {
namespace {

bool is_local(UOp range) {
  if (!range.is(Op::RANGE) || !range.arg().is_tuple() || range.arg().items().empty()) return false;
  const Arg last = range.arg().items().back();
  return last == Arg(AxisType::LOCAL) || last == Arg(AxisType::WARP) || last == Arg(AxisType::GROUP_REDUCE);
}

}  // namespace

bool is_as_long(UOp range, UOp to) {
  return range.is(Op::RANGE) && to.in({Op::RANGE, Op::SPECIAL}) && range.num_src() && to.num_src() &&
         range.src(0).simplify() == to.src(0).simplify();
}

UOp with_first_stores(UOp root, const RangeMap& map) {
  Substitution gates;
  for (UOp store : toposort(root)) {
    if (!store.is(Op::STORE) || !store.src(0).is(Op::INDEX) || store.src(0).num_src() != 2) continue;
    const UOp index = store.src(0), at = index.src(1);
    if (index.dtype().addrspace() != AddrSpace::GLOBAL) continue;
    UOp first;
    for (auto& [range, to] : map) {
      if (!is_local(range) || lies_in(index, range) || lies_in(store.src(1), range)) continue;
      const UOp here = range.eq(0);
      first = first ? first & here : here;
    }
    if (!first) continue;
    const UOp gated = first.broadcast(at.dtype().count()).where(at, Const::invalid());
    gates.emplace_back(index, index.with_src({index.src(0), gated}));
  }
  return gates.empty() ? UOp() : substitute(root, gates);
}

}  // namespace tgc
