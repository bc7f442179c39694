#include "lib/prove/launch_contract.h"

#include <algorithm>
#include <initializer_list>
#include <unordered_set>

#include "lib/rewrite/rewrite.h"
#include "lib/uop/facts.h"
#include "lib/uop/graph.h"

namespace tgc {
namespace {

bool has_axis_type(UOp range, std::initializer_list<AxisType> types) {
  if (!range.is(Op::RANGE) || !range.arg().is_tuple() || range.arg().items().empty()) return false;
  const Arg last = range.arg().items().back();
  return std::ranges::any_of(types, [&](AxisType t) { return last == Arg(t); });
}
bool is_local_axis(UOp r) { return has_axis_type(r, {AxisType::LOCAL, AxisType::WARP, AxisType::GROUP_REDUCE}); }
bool is_grid_axis(UOp r) { return has_axis_type(r, {AxisType::GLOBAL, AxisType::THREAD}); }

}  // namespace

bool is_same_size_loop(UOp range, UOp to) {
  return range.is(Op::RANGE) && to.in({Op::RANGE, Op::SPECIAL}) && range.num_src() && to.num_src() &&
         range.src(0).simplify() == to.src(0).simplify();
}

UOp gate_repeated_stores(UOp root, const RangeMap& map) {
  Substitution gates;
  for (UOp store : toposort(root)) {
    if (!store.is(Op::STORE) || !store.src(0).is(Op::INDEX) || store.src(0).num_src() != 2) continue;
    const UOp index = store.src(0), at = index.src(1);
    if (index.dtype().addrspace() != AddrSpace::GLOBAL) continue;
    UOp first;
    for (auto& [range, to] : map) {
      if (!is_local_axis(range) || is_inside_range(index, range) || is_inside_range(store.src(1), range)) continue;
      const UOp here = range.eq(0);
      first = first ? first & here : here;
    }
    if (!first) continue;
    const UOp gated = first.broadcast(at.dtype().count()).where(at, Const::invalid());
    gates.emplace_back(index, index.with_src({index.src(0), gated}));
  }
  return gates.empty() ? UOp() : substitute(root, gates);
}

bool is_reduced_by_groups(UOp before, UOp after) {
  if (!before.is(Op::REDUCE) || !after.is(Op::REDUCE) || before.arg() != after.arg()) return false;
  const UOp read = after.src(0);
  if (before.dtype() != after.dtype() || !read.is(Op::INDEX) || read.dtype() != before.dtype()) return false;
  const UOp buffer = read.src(0);
  if (!buffer.is(Op::BUFFERIZE) || buffer.num_src() != read.num_src()) return false;
  const UOp partial = buffer.src(0);
  if (!partial.is(Op::REDUCE) || partial.arg() != before.arg() || partial.dtype() != before.dtype()) return false;
  if (partial.src(0) != before.src(0)) return false;
  const auto own = partial.src().subspan(1), loops = after.src().subspan(1);
  std::unordered_set<UOp> rest(before.src().begin() + 1, before.src().end());
  std::unordered_set<UOp> used;
  for (UOp r : own)
    if (!rest.erase(r)) return false;
  for (size_t i = 1; i < buffer.num_src(); i++) {
    const UOp axis = buffer.src(i), index = read.src(i);
    if (!rest.contains(axis)) {
      if (axis != index) return false;
      continue;
    }
    if (std::ranges::find(loops, index) == loops.end() || !is_same_size_loop(axis, index)) return false;
    if (!used.insert(index).second || in_backward_slice_with_self(partial, index)) return false;
    rest.erase(axis);
  }
  return rest.empty() && used.size() == loops.size();
}

bool is_shared_by_group(UOp before, UOp after) {
  if (!before.is(Op::BUFFERIZE) || before.num_src() != 2 || !after.is(Op::AFTER) || after.num_src() != 2) return false;
  const UOp memory = after.src(0), value = before.src(0), at = before.src(1);
  if (!memory.is(Op::DEFINE_LOCAL) || in_backward_slice_with_self(before, memory)) return false;
  const DType p = memory.dtype();
  const UOp barrier = after.src(1);
  if (!p.is_ptr() || p.base() != value.dtype() || !barrier.is(Op::BARRIER) || barrier.num_src() != 1) return false;
  std::unordered_set<UOp> ended;
  UOp store = barrier.src(0);
  for (; store.is(Op::END); store = store.src(0)) ended.insert(store.src().begin() + 1, store.src().end());
  if (!store.is(Op::STORE) || store.num_src() != 2 || store.src(1) != value) return false;
  const UOp place = store.src(0);
  if (!place.is(Op::INDEX) || place.num_src() != 2 || place.src(0) != memory || place.src(1) != at) return false;
  // each iteration must store to another element of the memory, and together they must store to all elements
  Graph& graph = before.graph();
  if (!has_same_iterations({{graph.range(Const(p.size()), -1, AxisType::LOOP), at}})) return false;
  std::unordered_set<UOp> loops;
  for (UOp u : toposort(at))
    if (u.is(Op::RANGE)) loops.insert(u);
  if (loops != ended) return false;
  // the value must not depend on other loops, except those of the grid
  auto ranges = value.ranges();
  return std::ranges::all_of(ranges, [&](UOp r) { return loops.contains(r) || is_grid_axis(r); });
}

}  // namespace tgc
