#include "passes/kernel/split_ends.h"

#include "lib/rewrite/testing.h"

namespace tgc {
namespace {

TEST_CASE("an END of several ranges becomes one END per range, innermost first") {
  RuleTest t(pm_split_ends());
  UOp a = t.range(4, 0), b = t.range(4, 2), c = t.range(4, 1), x = t.load(0, dtypes::float32);
  t.check("split-ends", x.end({a, b, c}), x.end(b).end(c).end(a));
  t.check("split-ends", x.end({a * 4 + b, c}), x.end(b).end(c).end(a));  // an expression is replaced by its RANGEs
  t.check("split-ends", x.end(t.constant(dtypes::index, 0)), x);         // an END without RANGEs is dropped
  t.declines("split-ends", x.end(a));
  t.all_rules_fired();
}

}  // namespace
}  // namespace tgc
