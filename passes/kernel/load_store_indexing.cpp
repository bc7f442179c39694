// Simplifies the index of an access under the assumption that its gate holds. For images, drops clauses of the gate
// that the hardware's bounds check makes redundant (tinygrad codegen/late/devectorizer.py: simplify_valid_load,
// load_store_indexing).
#include <algorithm>

#include "lib/rewrite/rewrite.h"
#include "lib/uop/graph.h"
#include "lib/uop/integer_math.h"
#include "passes/kernel/loads.h"
#include "passes/symbolic/valid.h"

namespace tgc {

using namespace pat;

namespace {

bool is_negative(Const v) { return py_less(v, 0); }

// Returns true if the clause is x0 + x1 + ... >= 1 with irreducible xi >= 0, and a coordinate is negative if all xi are
// 0. Then the clause is redundant, because it excludes only positions outside the image.
bool simplex_is_outside(const BoundClause& clause, UOp idx) {
  if (clause.upper || clause.bound != 1) return false;
  auto terms = split_uop(clause.expr, Op::ADD);
  if (!std::all_of(terms.begin(), terms.end(), [](UOp u) { return u.in(ops::Irreducible) && py_equal(u.vmin(), 0); }))
    return false;
  UOp test = idx;
  for (UOp u : terms) test = substitute(test, {{u, u.const_like(0)}});
  return is_negative(test.gep(0).vmax()) || is_negative(test.gep(1).vmax());
}

// Returns true if the first value that the clause excludes puts an is_increasing() coordinate outside the image.
bool neighbour_is_outside(const BoundClause& clause, UOp idx, std::span<const int64_t> image_shape) {
  Int excluded = clause.upper ? clause.bound + 1 : clause.bound - 1;
  const int64_t sizes[] = {image_shape[1], image_shape[0]};
  for (size_t k = 0; k < std::min<size_t>(2, idx.num_src()); k++) {
    UOp i = idx.src(k);
    if (!is_increasing(i)) continue;
    UOp at = substitute(i, {{clause.expr, clause.expr.const_like(excluded)}});
    if (!py_less(at.vmin(), sizes[k]) || is_negative(at.vmax())) return true;
  }
  return false;
}

UOp simplify_valid_load(UOp buf, UOp start, UOp valid) {
  UOp idx = uop_given_valid(valid, start);
  if (!buf.dtype().is_image()) return idx == start ? UOp() : buf.index_ptr(idx.valid(valid));
  if (start.dtype().count() != 2) return {};  // the index is not (x, y) yet

  UOp kept;
  bool dropped = false;
  for (UOp clause : split_uop(valid, Op::AND)) {
    auto bound = parse_valid(clause);
    if (bound && (simplex_is_outside(*bound, idx) || neighbour_is_outside(*bound, idx, buf.dtype().image_shape())))
      dropped = true;
    else kept = kept ? kept & clause : clause;
  }
  if (!dropped && idx == start) return {};
  return buf.index_ptr(kept ? idx.valid(kept) : idx);
}

}  // namespace

const RuleSet& load_store_indexing() {
  static const RuleSet set("load_store_indexing", {
      // buf[cond ? x : invalid]: x is simplified under the assumption cond; for images, cond loses redundant clauses
      rule("index-given-valid", node(Op::INDEX, buf, where(cond, x, node(Op::CONST).arg(Const::invalid()))), with<simplify_valid_load>(buf, x, cond)),
      // buf[x, cond] -> buf[cond ? x : invalid], with x simplified under the assumption cond, for int64
      rule("long-index-given-gate", node(Op::INDEX, buf, x.of(dtypes::int64), cond.of(dtypes::bool_)), with<simplify_valid_load>(buf, x, cond)),
      // buf[x, true] -> buf[x]
      rule("drop-true-gate", node(Op::INDEX, buf, x, constant(true, dtypes::bool_)), with(buf, x, [](UOp buf, UOp x) { return buf.index_ptr(x); })),
  });
  return set;
}

}  // namespace tgc
