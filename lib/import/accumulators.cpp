// Finds the ranges on which the accumulator of a group reduction does not depend.
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

// Returns the position of the first source that is a range which `u` ends; the number of sources if `u` ends no range.
size_t first_ended(UOp u) {
  if (u.in({Op::END, Op::STAGE, Op::REDUCE})) return 1;
  return u.is(Op::WMMA) ? 3 : u.num_src();
}

}  // namespace

// Sets enclosing_ranges_: for each buffer that the kernel makes and stores to, the ranges of a group on which the
// stored values depend. In a group reduction, the sum over the threads of a group follows the store to local memory,
// which ends the group's range. tinygrad still orders the accumulator of this sum after the range, because each thread
// has an accumulator. In tgc's IR, the range is a loop that has ended, so `make_after` does not order the accumulator
// after the range.
void Importer::find_accumulators(std::span<const UOp> nodes) {
  if (std::ranges::none_of(nodes, is_group_range)) return;
  for (UOp store : nodes) {
    if (!store.is(Op::STORE) || store.num_src() < 2) continue;
    const UOp buffer = buffer_of(store.src(0));
    if (!buffer.is(Op::BUFFER)) continue;
    auto& around = enclosing_ranges_[buffer];
    // for each node, the group ranges that no node below it has ended; the accumulator's own nodes are left out
    std::unordered_map<UOp, std::unordered_set<UOp>> open;
    for (UOp u : toposort(store.src(1), [&](UOp n) { return !(buffer_of(n) == buffer); })) {
      std::unordered_set<UOp>& of_node = open[u];
      if (is_group_range(u)) of_node.insert(u);
      for (UOp s : u.src()) of_node.insert(open[s].begin(), open[s].end());
      auto close = [&](UOp end) {
        for (UOp r : end.src().subspan(std::min(first_ended(end), end.num_src()))) of_node.erase(r);
      };
      close(u);
      if (u.is(Op::AFTER) && u.num_src())
        for (UOp s : sources_from(u, 1)) close(s);
    }
    auto& value = open[store.src(1)];
    around.insert(value.begin(), value.end());
  }
}

bool Importer::is_outside(UOp range, UOp memory) const {
  auto found = enclosing_ranges_.find(buffer_of(memory));
  return found != enclosing_ranges_.end() && is_group_range(range) && !found->second.contains(range);
}

}  // namespace tgc::import
