#include "lib/execute/unfused.h"

#include <unordered_map>
#include <unordered_set>

#include "lib/uop/facts.h"
#include "lib/uop/graph.h"

namespace tgc {
namespace {

bool is_operation(UOp u) {
  bool computes = u.in(ops::ALU | OpSet{Op::REDUCE_AXIS, Op::CAST});
  return computes && u.dtype().is_value() && !u.dtype().is(Scalar::Index);
}

// Returns the number of elements of the result; -1 if it is not constant.
int64_t elements_of(UOp u) {
  auto shape = shape_or_none(u);
  if (!shape) return -1;
  Int out = 1;
  for (const Sint& size : *shape) {
    if (size.is_uop()) return -1;
    out *= size.as_int();
  }
  return out.to_int64().value_or(INT64_MAX);
}

}  // namespace

UOp unfused(UOp sink, int64_t most_elements) {
  std::unordered_map<UOp, UOp> made;
  std::unordered_set<UOp> on_buffers;
  for (UOp u : toposort(sink)) {
    std::vector<UOp> src;
    bool reads = u.is(Op::BUFFER);
    for (UOp s : u.src()) src.push_back(made.at(s)), reads |= on_buffers.contains(s);
    if (reads) on_buffers.insert(u);
    UOp same = std::ranges::equal(src, u.src()) ? u : u.with_src(src);
    int64_t n = reads && is_operation(u) ? elements_of(u) : -1;
    made[u] = n > 0 && n <= most_elements ? u.graph().node(Op::CONTIGUOUS, u.dtype(), same) : same;
  }
  return made.at(sink);
}

}  // namespace tgc
