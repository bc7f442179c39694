#include "passes/kernel/early_movement.h"

#include "passes/tensor/movement_index.h"

namespace tgc {

using namespace pat;

namespace {
UOp index_of_index(UOp inner, UOp outer) {
  if (!inner.dtype().is_ptr() || outer.dtype().is_ptr()) return {};
  std::vector<UOp> src(inner.src().begin(), inner.src().end());
  src.insert(src.end(), outer.src().begin() + 1, outer.src().end());
  return outer.with_src(src);
}
}  // namespace

const RuleSet& pm_syntactic_sugar() {
  static const RuleSet set("pm_syntactic_sugar", {
      // x[i][j] -> x[i, j], where x[i] is a pointer
      rule("index-of-index", any_len(Op::INDEX, node(Op::INDEX).as(x)).as(y), with<index_of_index>(x, y)),
  });
  return set;
}

const RuleSet& early_movement_ops() {
  static const RuleSet set("early movement ops", {&pm_mops(), &pm_syntactic_sugar()});
  return set;
}

}  // namespace tgc
