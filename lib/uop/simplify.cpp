#include "lib/uop/simplify.h"

#include "lib/support/check.h"

namespace tgc {
namespace {

Simplifier installed_simplifier = nullptr;  // set once, by the initialization of a static variable

}  // namespace

bool install_simplifier(Simplifier simplifier) {
  installed_simplifier = simplifier;
  return true;
}

UOp UOp::simplify() const {
  if (in({Op::CONST, Op::VCONST})) return *this;
  TGC_CHECK(installed_simplifier, "this program does not link the rules of passes/symbolic");
  return installed_simplifier(*this);
}

Arg UOp::ssimplify() const {
  UOp s = simplify();
  return s.is_const() ? s.arg() : Arg(s);
}

}  // namespace tgc
