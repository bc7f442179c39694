#include "passes/kernel/stages.h"

#include <algorithm>

#include "lib/rewrite/rewrite.h"
#include "lib/uop/exec_alu.h"
#include "lib/uop/facts.h"
#include "lib/uop/graph.h"
#include "passes/symbolic/symbolic.h"

namespace tgc {

using namespace pat;

namespace {

// Splits the vector `in` into parts of dtype `out`. For 8 elements and an `out` of 2 elements, the parts are {0, 4},
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

using namespace pat;

namespace {

bool no_range(UOp u) { return !op_in_backward_slice_with_self(u, Op::RANGE); }
bool no_load(UOp u) { return !op_in_backward_slice_with_self(u, Op::INDEX); }

UOp reduce_unparented(UOp red) {
  Op op = red.arg().op();
  if (op != Op::ADD && op != Op::MAX && op != Op::MUL) return {};
  std::vector<UOp> src{red.src(0)}, dropped;
  for (UOp r : red.src().subspan(1)) {
    if (!r.is(Op::RANGE)) throw Failure("a REDUCE over what is no range: Ops." + std::string(name_of(r.op())));
    (is_inside_range(red.src(0), r) ? src : dropped).push_back(r);
  }
  if (dropped.empty()) return {};
  UOp out = src.size() > 1 || red.dtype() != red.src(0).dtype() ? red.with_src(src) : red.src(0);
  for (UOp r : dropped) {
    UOp count = r.src(0).cast(out.dtype().scalar()).broadcast(out.dtype().count());
    if (op == Op::ADD) out = out * count;
    if (op == Op::MUL) out = out.pow(count);
  }
  return out;
}

std::span<const UOp> ranges_of_reduce(UOp r) { return r.src().subspan(1); }

// Rewrites x + y < c to x < c - y if y and c do not depend on a range. `op` is CMPLT or CMPNE; CMPNE gives x != c - y.
UOp lift_add(Op op, UOp x, UOp y, UOp c) {
  return no_range(y) && no_range(c) ? x.alu(op, c.cast(y.dtype()) - y) : UOp();
}

UOp lift_mul(UOp x, UOp y, UOp c) {
  if (!no_range(y) || !no_range(c) || !dtypes::is_int(y.dtype()) || !py_less(0, y.vmin())) return {};
  return x.lt((c + y - 1) / y);
}

// Returns `val` times `count`, where `count` is first clamped to the interval from 0 to the size of `r`.
UOp multiply_by_count(UOp count, UOp r, UOp val) { return count.maximum(0).minimum(r.src(0)).cast(val.dtype()) * val; }

UOp fold_from_below(UOp r, UOp cut, UOp val) {
  return no_range(val) ? multiply_by_count(r.src(0) - cut, r, val) : UOp();
}
UOp fold_from_above(UOp r, UOp cut, UOp val) { return no_range(val) ? multiply_by_count(cut, r, val) : UOp(); }
UOp fold_between(UOp r, UOp lower, UOp upper, UOp val) {
  return no_range(val) ? multiply_by_count(upper.minimum(r.src(0)) - lower.maximum(0), r, val) : UOp();
}

UOp reduce_of_sum(UOp x, UOp y, UOp r) {
  return x.reduce(ranges_of_reduce(r), Op::ADD) + y.reduce(ranges_of_reduce(r), Op::ADD);
}

UOp reduce_of_gate(UOp x, UOp y, UOp val, UOp r) {
  return y.where(val, 0).reduce(ranges_of_reduce(r), Op::ADD) * x.cast(val.dtype());
}

// Rewrites the sum over r of (idx == r ? expr : 0) to expr with r = idx if idx is a value of the loop r, else to 0.
UOp pick_element(UOp r, UOp idx, UOp expr) {
  UOp i = idx.cast(r.dtype());
  UOp is_in_range = i.ge(0) & i.lt(r.src(0));
  return is_in_range.where(substitute(expr, {{r, i.valid(is_in_range)}}), 0);
}

UOp collapse_range(UOp u, UOp r, const RuleSet& rules) {
  constexpr OpSet kFree{Op::CONST, Op::VCONST, Op::DEFINE_GLOBAL, Op::DEFINE_LOCAL, Op::DEFINE_VAR};
  Graph& graph = u.graph();
  auto loop_nodes = toposort(u, [&](UOp x) { return is_inside_range(x, r); });
  if (std::any_of(loop_nodes.begin(), loop_nodes.end(), [](UOp x) { return x.in({Op::STORE, Op::REDUCE}); })) return {};
  // replace each value that is computed outside the loop by a variable with the value's bounds
  UOpSet seen(graph);
  for (UOp x : loop_nodes) seen.insert(x);
  Substitution there, back;
  for (UOp x : loop_nodes)
    for (UOp s : x.src()) {
      if (s.in(kFree) || !seen.insert(s)) continue;
      UOp variable = graph.variable("in" + std::to_string(there.size()), s.vmin(), s.vmax(), s.dtype());
      there.emplace_back(s, variable);
      back.emplace_back(variable, s);
    }
  UOp collapsed = graph_rewrite(substitute(u, there).reduce(r, Op::ADD), rules, {.name = "reduce_collapse"});
  return no_range(collapsed) ? substitute(collapsed, back) : UOp();
}

}  // namespace

UOp reduce_collapse(UOp reduce, UOp u, const RuleSet& rules) {
  for (UOp r : ranges_of_reduce(reduce)) {
    u = collapse_range(u, r, rules);
    if (!u) return {};
  }
  return u;
}

const RuleSet& pm_reduce_unparented() {
  static const RuleSet set("pm_reduce_unparented", {
      // for x that does not depend on r: sum over r of x -> x * size of r; product -> x ** size of r; maximum -> x
      rule("reduce-unparented", node(Op::REDUCE).as(red), with<reduce_unparented>(red)),
  });
  return set;
}

const RuleSet& pm_reduce_collapse() {
  static const RuleSet own("pm_reduce_collapse", {
      rule("lt-lift-add", or_casted(x + y) < n, with(x, y, n, [](UOp x, UOp y, UOp n) { return lift_add(Op::CMPLT, x, y, n); })),
      // x * y < c -> x < (c + y - 1) / y, when y and c do not depend on a range and y is a positive integer
      rule("lt-lift-mul", (x * y) < n, with<lift_mul>(x, y, n)),
      // ---- sums whose terms are `val`, which depends on no range, inside bounds and else 0; `count` terms are inside
      // sum(r < cut ? 0 : val) -> count * val
      rule("sum-from-bound", node(Op::REDUCE, where(node(Op::RANGE).as(r) < cut, 0, val), r).arg(Op::ADD), with<fold_from_below>(r, cut, val)),
      rule("sum-between-bounds", node(Op::REDUCE, where(logical_not(r < lower) & (node(Op::RANGE).as(r) < upper), val, 0), r).arg(Op::ADD),
           with<fold_between>(r, lower, upper, val)),
      rule("sum-to-bound", node(Op::REDUCE, where(node(Op::RANGE).as(r) < cut, val, 0), r).arg(Op::ADD), with<fold_from_above>(r, cut, val)),
      rule("sum-of-sum", any_len(Op::REDUCE, x + y).arg(Op::ADD).as(r), with<reduce_of_sum>(x, y, r)),
      // sum(v & y ? val : 0) -> sum(y ? val : 0) * v, for a variable v
      rule("sum-of-gate", any_len(Op::REDUCE, where(node(Op::DEFINE_VAR).as(x) & y, val, 0)).arg(Op::ADD).as(r), with<reduce_of_gate>(x, y, val, r)),
      rule("mul-gate", x * cast(gate.of(dtypes::bool_)), where(gate, x, 0)),
  });
  static const RuleSet set("pm_reduce_collapse", {&pm_reduce_unparented(), &own, &symbolic()});
  return set;
}

const RuleSet& pm_reduce_load_collapse() {
  static const RuleSet own("pm_reduce_load_collapse", {
      rule("ne-lift-add", or_casted(x + y) != n, with(x, y, n, [](UOp x, UOp y, UOp n) { return lift_add(Op::CMPNE, x, y, n); })),
      rule("sum-of-one-element", node(Op::REDUCE, where(idx != or_casted(node(Op::RANGE).as(r)), 0, val), r).arg(Op::ADD), with<pick_element>(r, idx, val)),
  });
  static const RuleSet set("pm_reduce_load_collapse", {&pm_reduce_collapse(), &own});
  return set;
}

const RuleSet& pm_reduce_simplify() {
  static const RuleSet own("pm_reduce_simplify", {
      rule("reduce-collapse", any_len(Op::REDUCE, u).arg(Op::ADD).as(red), with(red, u, [](UOp red, UOp u) { return reduce_collapse(red, u); })),
  });
  static const RuleSet set("pm_reduce_simplify", {&pm_reduce_unparented(), &own});
  return set;
}

const RuleSet& pm_load_collapse() {
  static const RuleSet set("pm_load_collapse", {
      rule("reduce-load-collapse", node(Op::REDUCE, u, anything()).arg(Op::ADD).as(red),
           with(red, u, [](UOp red, UOp u) { return reduce_collapse(red, u, pm_reduce_load_collapse()); })),
      // x + y < c -> x < c - y, when only x contains a load, because arithmetic on a loaded index may overflow
      rule("lt-lift-add-of-load", (x.of(dtypes::index) + y) < n, with(x, y, n, [](UOp x, UOp y, UOp n) {
             return no_load(y) && no_load(n) && !no_load(x) ? x.lt(n - y) : UOp();
           })),
  });
  return set;
}

}  // namespace tgc
