// Finds the group ranges on which the values that a kernel stores depend.
#include <algorithm>

#include "lib/import/importer.h"

namespace tgc::import {

namespace {

bool is_group_range(UOp u) {
  return u.is(Op::RANGE) && u.arg().is_tuple() && std::ranges::count(u.arg().items(), Arg(AxisType::GROUP_REDUCE));
}

UOp buffer_of(UOp u) {
  while (!u.is(Op::BUFFER) && u.num_src() && u.in(ops::Movement | OpSet{Op::AFTER, Op::INDEX})) u = u.src(0);
  return u;
}

size_t first_ended_source(UOp u) {
  if (u.in({Op::END, Op::STAGE, Op::REDUCE})) return 1;
  return u.is(Op::WMMA) ? 3 : u.num_src();
}

}  // namespace

// Sets enclosing_ranges_. In a group reduction, each thread stores a partial result to local memory, and the END of
// this store ends the group range. An accumulator, another BUFFER, then combines all partial results. tinygrad orders
// this accumulator after the group range. In tgc's IR, the range is a loop that has already ended, so make_after() must
// leave it out (is_outside_range()).
void Importer::find_accumulators(std::span<const UOp> nodes) {
  if (std::ranges::none_of(nodes, is_group_range)) return;
  for (UOp store : nodes) {
    if (!store.is(Op::STORE) || store.num_src() < 2) continue;
    const UOp buffer = buffer_of(store.src(0));
    if (!buffer.is(Op::BUFFER)) continue;
    auto& around = enclosing_ranges_[buffer];
    // by node: the group ranges that it depends on and that have not ended; nodes of the accumulator are skipped
    std::unordered_map<UOp, std::unordered_set<UOp>> open;
    for (UOp u : toposort(store.src(1), [&](UOp n) { return !(buffer_of(n) == buffer); })) {
      std::unordered_set<UOp>& of_node = open[u];
      if (is_group_range(u)) of_node.insert(u);
      for (UOp s : u.src()) of_node.insert(open[s].begin(), open[s].end());
      auto close = [&](UOp end) {
        for (UOp r : end.src().subspan(std::min(first_ended_source(end), end.num_src()))) of_node.erase(r);
      };
      close(u);
      if (u.is(Op::AFTER) && u.num_src())
        for (UOp s : sources_from(u, 1)) close(s);
    }
    auto& value = open[store.src(1)];
    around.insert(value.begin(), value.end());
  }
}

bool Importer::is_outside_range(UOp range, UOp memory) const {
  auto found = enclosing_ranges_.find(buffer_of(memory));
  return found != enclosing_ranges_.end() && is_group_range(range) && !found->second.contains(range);
}

}  // namespace tgc::import
