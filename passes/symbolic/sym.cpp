// Phase 3 of the symbolic rules: the full set, which several stages of a kernel apply.
// Mirrors tinygrad uop/symbolic.py: reduce_mul_chain, sym.
#include "lib/uop/graph.h"
#include "lib/uop/integer_math.h"
#include "passes/symbolic/symbolic.h"
#include "passes/symbolic/transcendental.h"

namespace tgc {

using namespace pat;

namespace {

// store(buf[i], gate ? alt : load(buf[i])) -> store(buf[gate ? i : invalid], alt):
// if the gate is false, the store would only write back the old value
UOp gate_store(UOp index, UOp gate, UOp alt, UOp store) {
  if (store.num_src() > 2) throw Failure("cannot gate a store that ends ranges");
  return index.src(0).index(gate.where(index.src(1), index.graph().invalid())).store(alt);
}

bool is_store(UOp x) { return x.is(Op::STORE); }

// sum(x * y) -> sum(x) * y for factors y that do not depend on the ranges; also for max, if y is never negative
UOp reduce_mul_chain(UOp r) {
  if (!r.arg().is(Op::ADD) && !r.arg().is(Op::MAX)) return {};
  if (r.dtype() != r.src(0).dtype()) return {};
  auto ranges = r.src().subspan(1);
  std::vector<UOp> dependent_factors, free_factors;
  for (UOp m : split_uop(r.src(0), Op::MUL)) {
    bool free = !r.arg().is(Op::MAX) || py_less_equal(0, m.vmin());  // for MAX, false if m is NaN
    for (UOp range : ranges) free = free && !in_backward_slice_with_self(m, range);
    (free ? free_factors : dependent_factors).push_back(m);
  }
  if (free_factors.empty()) return {};
  UOp rest = dependent_factors.empty() ? r.src(0).const_like(1) : prod_from_one(dependent_factors);
  return r.with_src(prepend(rest, ranges)) * prod_from_one(free_factors);
}

// Replaces each source of a SINK or GROUP that is an UNROLL, NOOP, VECTORIZE or SINK by the sources of that node.
UOp flatten_sink(UOp root) {
  constexpr OpSet kTransparent{Op::UNROLL, Op::NOOP, Op::VECTORIZE, Op::SINK};
  std::vector<UOp> src;
  bool changed = false;
  for (UOp x : root.src()) {
    if (!x.in(kTransparent)) {
      src.push_back(x);
      continue;
    }
    changed = true;
    src.insert(src.end(), x.src().begin(), x.src().end());
  }
  return changed ? root.graph().node(root.op(), root.dtype(), src, root.arg()) : UOp();
}

}  // namespace

const RuleSet& sym() {
  static const RuleSet own("sym", {
      rule("alu-of-broadcasts", node(ops::ALU, each(Op::VECTORIZE, x), each(Op::VECTORIZE, y)).as(alu_node),
           broadcast(uop(op_of(alu_node), element_dtype_of(alu_node), x, y), count(alu_node))),
      rule("ne-zero", x != 0, cast(x, dtypes::bool_)),
      rule("cast-of-where", cast(where(s, a, b)).as(u), where(s, cast(a, dtype_of(u)), cast(b, dtype_of(u)))),
      rule("pow", node(Op::POW, x, y), with<xpow>(x, y)),
      rule("store-of-own-load", node(Op::STORE, node(Op::INDEX).as(idx), node(Op::LOAD, node(Op::INDEX).as(idx))), noop()),
      rule("store-of-gated-load", any_len(Op::STORE, node(Op::INDEX).as(idx), where(gate, alt, node(Op::LOAD, node(Op::INDEX).as(idx)))).as(s),
           with<gate_store>(idx, gate, alt, s)),
      // load(buf[invalid]) -> 0; store(buf[invalid], x) -> nothing
      rule("access-invalid", any_len({Op::LOAD, Op::STORE}, or_casted(node(Op::INDEX, anything(), constant(Const::invalid(), dtypes::index)))).as(x),
           branch("store", noop(), when<is_store>(x)), branch("load", const_like(x, 0))),
      rule("reciprocal-of-square", reciprocal(x * x), reciprocal(x) * reciprocal(x)),
      rule("reciprocal-of-cube", reciprocal(x * x * x), reciprocal(x) * reciprocal(x) * reciprocal(x)),
      rule("reciprocal-of-scaled", reciprocal(x * c), reciprocal(x) * reciprocal(c)),
      rule("mul-sigmoid", x * reciprocal(1 + x).as(d), 1 - d),
      rule("mul-scaled-sigmoid", x * (reciprocal(1 + x).as(d) * y), y * (1 - d)),
      rule("mul-sigmoid-plus", x * (reciprocal(1 + x).as(d) + y), (1 - d) + x * y),
      rule("reduce-of-scaled", any_len(Op::REDUCE, x * c.scalar()).arg(Op::ADD).as(r), with_first_src(r, x) * fold(c)),
      rule("reduce-of-product", any_len(Op::REDUCE, node(Op::MUL)).as(r), with<reduce_mul_chain>(r)),
      rule("group-of-one", node(Op::GROUP, x), x),
      rule("sink-flatten", node({Op::SINK, Op::GROUP}).as(root), with<flatten_sink>(root)),
      rule("end-of-nothing", any_len(Op::END, leaf_node(Op::NOOP).as(x)), x),
      rule("neg-of-sum", -1 * (x + y), (-x) + (-y)),
      // (x + y) * c -> x * c + y * c, for indices only: wrong for floats that overflow to infinity
      rule("mul-distribute", (x.of(dtypes::index) + y) * c, x * c + y * c),
  });
  static const RuleSet set("sym", {&symbolic(), &pm_simplify_valid(), &own});
  return set;
}

}  // namespace tgc
