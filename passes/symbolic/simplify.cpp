// Defines UOp::simplify() and UOp::ssimplify(), declared in lib/uop, with the rules of symbolic()
// (tinygrad uop/ops.py: simplify, ssimplify).
#include "lib/rewrite/rewrite.h"
#include "passes/symbolic/symbolic.h"

namespace tgc {

UOp UOp::simplify() const {
  if (in({Op::CONST, Op::VCONST})) return *this;
  return graph_rewrite(*this, symbolic(), {.name = "simplify"});
}

Arg UOp::ssimplify() const {
  UOp s = simplify();
  return s.is_const() ? s.arg() : Arg(s);
}

}  // namespace tgc
