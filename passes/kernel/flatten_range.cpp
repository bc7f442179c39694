#include "passes/kernel/flatten_range.h"

#include <algorithm>

#include "lib/uop/graph.h"

namespace tgc {

using namespace pat;

namespace {

// The sources that end ranges become the RANGE nodes below them, in the order of the graph.
UOp flatten_range(UOp r) {
  size_t start = size_t(range_start(r.op()));
  if (start >= r.num_src()) return {};
  std::vector<UOp> sources(r.src().begin(), r.src().begin() + start);
  auto ended = r.src().subspan(start);
  bool flat = true;
  for (UOp e : ended) flat &= e.is(Op::RANGE) && e.num_src() == 1 && e.src(0).is_const();
  if (flat) {  // distinct leaves: nothing to look for
    for (UOp e : ended)
      if (std::find(sources.begin() + start, sources.end(), e) == sources.end()) sources.push_back(e);
  } else {
    for (UOp u : toposort(r.graph().sink(ended)))
      if (u.is(Op::RANGE)) sources.push_back(u);
  }
  return r.with_src(sources);
}

}  // namespace

const RuleSet& pm_flatten_range() {
  static const RuleSet set("pm_flatten_range", {
      rule("flatten-range", node({Op::REDUCE, Op::STORE, Op::END}).as(r), with(r, flatten_range)),
  });
  return set;
}

}  // namespace tgc
