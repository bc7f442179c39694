#include "passes/kernel/early_movement.h"

#include "lib/rewrite/testing.h"

namespace tgc {
namespace {

TEST_CASE("an INDEX of a pointer INDEX becomes one INDEX") {
  RuleTest t(pm_syntactic_sugar());
  UOp buffer = t.buffer(0, dtypes::float32), i = t.var("i", 0, 3), j = t.var("j", 0, 3);
  t.check("index-of-index", buffer.index_ptr(i).index(j), buffer.index(UOpSpan{i, j}, dtypes::float32));
  t.declines("index-of-index", buffer.index_ptr(i).index_ptr(j));
  t.declines("index-of-index", buffer.index(i).index(UOpSpan(j), dtypes::float32));
  t.all_rules_fired();
}

}  // namespace
}  // namespace tgc
