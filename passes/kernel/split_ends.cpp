#include "passes/kernel/split_ends.h"

#include <algorithm>

#include "lib/support/pysort.h"
#include "lib/uop/facts.h"
#include "lib/uop/graph.h"

namespace tgc {

using namespace pat;

namespace {

UOp split_ends(UOp e) {
  auto ranges_below = ranges_of(e.graph().sink(e.src().subspan(1)));
  std::vector<UOp> ranges(ranges_below.begin(), ranges_below.end());
  // like Python's sorted(reverse=True), which keeps the order of equal elements
  std::reverse(ranges.begin(), ranges.end());
  py_sort(ranges, [](UOp a, UOp b) { return py_compare(a.arg(), b.arg()) == Order::Less; });
  std::reverse(ranges.begin(), ranges.end());
  UOp out = e.src(0);
  for (UOp r : ranges) out = out.end(r);
  return out;
}

}  // namespace

const RuleSet& pm_split_ends() {
  static const RuleSet set("pm_split_ends", {
      // end(x, r0, r1) -> end(end(x, r1), r0)
      rule("split-ends", node(Op::END).as(e), with<split_ends>(e)),
  });
  return set;
}

}  // namespace tgc
