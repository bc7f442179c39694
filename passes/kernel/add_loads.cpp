// The stage "** add loads (code)": an INDEX of a value becomes a pointer INDEX and a LOAD
// (tinygrad codegen/late/devectorizer.py:pm_add_loads).
#include "lib/uop/graph.h"
#include "passes/kernel/loads.h"
#include "passes/tensor/movement_index.h"

namespace tgc {

using namespace pat;

const RuleSet& pm_add_loads() {
  static const RuleSet set("pm_add_loads", {
      // buf[i] -> load(&buf[i])
      rule("load-index", node(Op::INDEX).as(idx), with(idx, [](UOp idx) {
             if (idx.dtype().is_ptr()) return UOp();
             return idx.with_dtype(idx.src(0).dtype()).load({}, idx.dtype().base());
           })),
      // store(load(p), ...) -> store(p, ...)
      rule("store-to-pointer", any_len(Op::STORE, node(Op::LOAD)).as(s), with(s, [](UOp s) { return with_first(s, s.src(0).src(0)); })),
  });
  return set;
}

}  // namespace tgc
