#include "passes/kernel/reduce.h"

#include "lib/rewrite/rewrite.h"
#include "lib/uop/exec_alu.h"
#include "lib/uop/facts.h"
#include "lib/uop/graph.h"
#include "passes/symbolic/symbolic.h"

namespace tgc {

using namespace pat;

namespace {

// Splits the vector `in` into parts of dtype `out`, to be reduced elementwise: 8 elements to 2 give the parts {0, 4},
// {1, 5}, {2, 6}, {3, 7}.
std::vector<UOp> horizontal_parts(UOp in, DType out) {
  if (in.dtype() == out) return {in};
  std::vector<UOp> parts;
  int64_t n = in.dtype().count(), amount = n / out.count();
  for (int64_t i = 0; i < amount; i++) {
    std::vector<int64_t> picks;
    for (int64_t k = i; k < n; k += amount) picks.push_back(k);
    parts.push_back(in.gep(picks));
  }
  for (UOp p : parts)
    if (p.dtype() != out)
      throw Failure("cannot reduce " + std::string(in.dtype().repr()) + " to " + std::string(out.repr()));
  return parts;
}

// Returns the ranges that `in` depends on, without the reduced ranges and the ranges that end inside `in`.
std::vector<UOp> outer_ranges(UOp in, std::span<const UOp> reduced) {
  auto topo = toposort(in);
  UOpSet inner(in.graph());
  for (UOp r : reduced) inner.insert(r);
  for (UOp u : topo)
    if (u.is(Op::END))
      for (UOp r : ended_ranges(u)) inner.insert(r);
  std::vector<UOp> out;
  for (UOp u : topo)
    if (u.is(Op::RANGE) && !inner.contains(u)) out.push_back(u);
  return out;
}

UOp reduce_to_accumulator(ReduceContext& ctx, UOp red) {
  Graph& graph = red.graph();
  UOp in = red.src(0);
  Op op = red.arg().op();
  auto ranges = red.src().subspan(1);
  auto parts = horizontal_parts(in, red.dtype());

  UOp zero, acc;
  if (!ranges.empty()) {
    zero = graph.constant(dtypes::int32, 0);
    UOp identity = graph.constant(red.dtype(), identity_element(op, red.dtype().scalar()));
    acc = graph.node(Op::DEFINE_REG, red.dtype().ptr(1, AddrSpace::REG), {}, ctx.num_accumulators++);
    auto outer = outer_ranges(in, ranges);
    UOp init = (outer.empty() ? acc : acc.after(outer)).index(zero).store(identity);
    parts.insert(parts.begin(), acc.after(prepend(init, ranges)).index(zero));
  }
  UOp value = parts[0];
  for (size_t i = 1; i < parts.size(); i++) value = value.alu(op, parts[i]);
  if (ranges.empty()) return value;
  return acc.after(acc.index(zero).store(value).end(ranges)).index(zero);
}

}  // namespace

const RuleSet& pm_reduce() {
  static const RuleSet set("pm_reduce", {
      // reduce(x, ranges) -> a register that is initialized before the loops, accumulates x and is read after them
      rule("reduce-to-accumulator", node(Op::REDUCE).as(red), with<reduce_to_accumulator>(red)),
      // wmma(a, b, c) + x -> wmma(a, b, c + x)
      rule("wmma-accumulates", node(Op::WMMA).as(wmma) + x, with(wmma, x, [](UOp wmma, UOp x) {
             return wmma.graph().node(Op::WMMA, wmma.dtype(), {wmma.src(0), wmma.src(1), wmma.src(2) + x}, wmma.arg());
           })),
  });
  return set;
}

const RuleSet& remove_reduce_stage() {
  static const RuleSet set("remove_reduce", {&pm_reduce(), &gep_pushing()});
  return set;
}

UOp remove_reduce(UOp sink) {
  ReduceContext ctx;
  return graph_rewrite(sink, remove_reduce_stage(), {.ctx = ctx, .name = "remove_reduce"});
}

}  // namespace tgc
