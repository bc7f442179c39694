#include "passes/kernel/stages.h"

#include "lib/uop/graph.h"
#include "lib/uop/integer_math.h"

namespace tgc {

using namespace pat;

namespace {

constexpr DTypeSet kIndex{Scalar::Index};

// Returns int32, or int64 if the bounds of `u` exceed int32; a vector of that dtype if `u` is a vector.
DType select_dtype(UOp u) {
  return (may_overflow(u, dtypes::int32) ? dtypes::int64 : dtypes::int32).vec(u.dtype().count());
}

DType dtype_holding_all(UOp u, UOp x, UOp y) { return least_upper_dtype({select_dtype(u), x.dtype(), y.dtype()}); }
DType common_dtype(UOp x, UOp y) { return least_upper_dtype({x.dtype(), y.dtype()}); }
bool is_invalid(UOp u) { return u.is_invalid(); }

UOp lower_vectorize(UOp v) {
  DType dtype = select_dtype(v);
  std::vector<UOp> src;
  for (UOp s : v.src()) src.push_back(s.src(0).cast(dtype.scalar()));
  return v.replace({.dtype = dtype, .src = src}).cast(dtypes::index);
}

UOp lower_bind(UOp var, UOp val) {
  if (!var.is(Op::DEFINE_VAR)) throw Failure("a BIND binds Ops." + std::string(name_of(var.op())) + ", not a variable");
  Const least = var.arg()[1].to_const(), greatest = var.arg()[2].to_const();
  if (py_less(val.vmin(), least) || py_less(greatest, val.vmax()))
    throw Failure("a variable from " + least.str() + " to " + greatest.str() + " is bound to a value out of range");
  return var.graph().node(Op::BIND, var.dtype(), {var, val}).cast(dtypes::index);
}

UOp drop_index_casts(UOp n) {
  std::vector<UOp> src;
  for (UOp s : n.src()) src.push_back(s.is(Op::CAST) && s.dtype() == dtypes::index ? s.src(0) : s);
  return n.with_src(src);
}

}  // namespace

const RuleSet& pm_lower_index_dtype() {
  auto wide = dtype_by<dtype_holding_all>(u, x, y);
  auto common = dtype_by<common_dtype>(x, y);
  static const RuleSet set("pm_lower_index_dtype", {
      // index(x) op index(y) -> x op y, in a dtype that fits x, y and result
      rule("lower-binary", node(ops::Binary, cast(x, kIndex), cast(y, kIndex)).as(u), cast(alu(op_of(u), cast(x, wide), cast(y, wide)), dtype_of(u))),
      rule("lower-const", node({Op::CONST, Op::VCONST}).of(kIndex).as(u), 
           cast(with_dtype(u, dtype_by<select_dtype>(u)), dtype_of(u)), unless<is_invalid>(u)),
      rule("lower-where", node(Op::WHERE, cond, cast(x, kIndex), cast(y, kIndex)).of(kIndex),
           cast(where(cond, cast(x, common), cast(y, common)), dtypes::index)),
      rule("lower-range", each(Op::RANGE, cast(end_, kIndex)).as(r), cast(replace(r, dtype_of(end_), end_), dtypes::index)),
      rule("lower-vectorize", each(Op::VECTORIZE, cast(anything(), kIndex)).as(v), with<lower_vectorize>(v)),
      rule("lower-special", node(Op::SPECIAL, cast(x, kIndex)).as(u), cast(replace(u, dtypes::int32, x), dtypes::index)),
      rule("lower-variable", node(Op::DEFINE_VAR).of(kIndex).as(u), cast(with_dtype(u, dtypes::int32), dtypes::index)),
      rule("lower-bind", node(Op::BIND, cast(x, kIndex), cast(c, kIndex)), with<lower_bind>(x, c)),
      rule("invalid-to-gate", node(Op::INDEX, buf, where(cond, idx, node(Op::CONST).arg(Const::invalid()))),
           uop(Op::INDEX, dtype_of(buf), buf, idx, cond)),
      rule("index-drops-cast", node(Op::INDEX, buf, cast(idx.of(dtypes::ints))), uop(Op::INDEX, dtype_of(buf), buf, idx)),
      rule("gated-index-drops-cast", node(Op::INDEX, buf, cast(idx.of(dtypes::ints)), gate),
           uop(Op::INDEX, dtype_of(buf), buf, idx, gate)),
      rule("root-drops-casts", node({Op::SINK, Op::NOOP, Op::END}).as(n), with<drop_index_casts>(n)),
  });
  return set;
}

const RuleSet& lower_index_dtype_stage() {
  static const RuleSet set("lower all index dtypes", {&pm_lower_index_dtype(), &load_store_indexing()});
  return set;
}

}  // namespace tgc
