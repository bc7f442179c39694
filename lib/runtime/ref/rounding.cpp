#include "lib/runtime/ref/rounding.h"

#include <algorithm>

#include "lib/runtime/compare.h"
#include "lib/uop/graph.h"

namespace tgc {

DType coarsest_rounding(UOp root, DType known) {
  constexpr OpSet kRounds = (ops::ALU - OpSet{Op::WHERE}) | OpSet{Op::REDUCE, Op::CAST};
  DType out = known;
  for (UOp u : toposort(root))
    if (u.in(kRounds) && u.dtype().is_value() && default_tolerance(u.dtype()).rtol > default_tolerance(out).rtol)
      out = u.dtype().scalar();
  return out;
}

bool has_summed_terms(UOp root) {
  return std::ranges::any_of(toposort(root), [](UOp u) {
    return (u.is(Op::REDUCE) && u.arg().op() == Op::ADD) || u.is(Op::WMMA) || u.is(Op::DEFINE_REG);
  });
}

}  // namespace tgc
