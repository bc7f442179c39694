#include "lib/prove/selected_term.h"

#include "lib/rewrite/rewrite.h"
#include "lib/uop/facts.h"
#include "lib/uop/graph.h"

namespace tgc {

UOp selected_term(UOp before) {
  constexpr OpSet kValues =
      ops::ALU | ops::Defines | OpSet{Op::CONST, Op::CAST, Op::INDEX, Op::LOAD, Op::RANGE, Op::SPECIAL};
  if (!before.is(Op::REDUCE) || !before.arg().is(Op::ADD) || before.num_src() != 2) return {};
  const UOp loop = before.src(1), term = before.src(0);
  if (!loop.is(Op::RANGE) || !loop.src(0).is_const() || !loop.src(0).arg().is_int()) return {};
  const int64_t size = loop.src(0).arg().as_int().to_int64().value_or(0);
  if (size <= 0 || !term.is(Op::WHERE) || term.dtype() != before.dtype()) return {};
  if (term.dtype().count() != 1) return {};
  UOp test = term.src(0);
  bool is_not_equal = test.is(Op::CMPNE);
  auto is_bool = [](UOp u, bool value) {
    return u.is_const() && dtypes::is_bool(u.dtype()) && u.arg().to_const().truthy() == value;
  };
  if (is_not_equal && is_bool(test.src(1), true)) test = test.src(0), is_not_equal = !test.is(Op::CMPNE);
  if (!test.in({Op::CMPNE, Op::CMPEQ})) return {};
  const UOp zero = term.src(is_not_equal ? 1 : 2), value = term.src(is_not_equal ? 2 : 1);
  if (!zero.is_const() || zero.is_invalid() || !py_equal(zero.arg().to_const(), Const(int64_t(0)))) return {};
  // Returns whether the node is the index of the loop, which its dtype holds.
  auto is_index = [&](UOp u) {
    for (; u.is(Op::CAST); u = u.src(0))
      if (!dtypes::is_int(u.dtype()) || dtypes::max(u.dtype()).to_int() < Int(size - 1)) return false;
    return u == loop;
  };
  const bool is_first = is_index(test.src(0));
  if (!is_first && !is_index(test.src(1))) return {};
  const UOp index = test.src(is_first ? 1 : 0);
  if (!dtypes::is_int(index.dtype()) || index.is_invalid() || in_backward_slice_with_self(index, loop)) return {};
  for (UOp u : toposort(value))
    if (!u.in(kValues)) return {};
  const UOp at = index.cast(dtypes::index);
  return (at.ge(0) & at.lt(size)).where(substitute(value, {{loop, at.cast(loop.dtype())}}), zero);
}

}  // namespace tgc
