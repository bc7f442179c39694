#include "passes/kernel/index_dtype.h"

#include "lib/uop/graph.h"
#include "lib/uop/integer_math.h"
#include "passes/kernel/loads.h"

namespace tgc {

using namespace pat;

namespace {

constexpr DTypeSet kIndex{Scalar::Index};

// The integer dtype that holds every value of `u`.
DType select_dtype(UOp u) { return (overflows(u, dtypes::int32) ? dtypes::int64 : dtypes::int32).vec(u.dtype().count()); }

UOp lower_binary(UOp u, UOp x, UOp y) {
  DType dtype = least_upper_dtype({select_dtype(u), x.dtype(), y.dtype()});
  return x.cast(dtype).alu(u.op(), y.cast(dtype)).cast(u.dtype());
}

UOp lower_where(UOp cond, UOp x, UOp y) {
  DType dtype = least_upper_dtype({x.dtype(), y.dtype()});
  return cond.where(x.cast(dtype), y.cast(dtype)).cast(dtypes::index);
}

UOp lower_vectorize(UOp v) {
  DType dtype = select_dtype(v);
  std::vector<UOp> src;
  for (UOp s : v.src()) src.push_back(s.src(0).cast(dtype.scalar()));
  return v.replace({.dtype = dtype, .src = src}).cast(dtypes::index);
}

UOp lower_bind(UOp var, UOp val) {
  Const least = var.arg()[1].to_const(), greatest = var.arg()[2].to_const();
  if (py_less(val.vmin(), least) || py_less(greatest, val.vmax()))
    throw Failure("a variable of " + least.str() + " to " + greatest.str() + " is bound to a value beyond");
  return var.graph().node(Op::BIND, var.dtype(), {var, val}).cast(dtypes::index);
}

UOp drop_index_casts(UOp n) {
  std::vector<UOp> src;
  for (UOp s : n.src()) src.push_back(s.is(Op::CAST) && s.dtype() == dtypes::index ? s.src(0) : s);
  return n.with_src(src);
}

}  // namespace

const RuleSet& pm_lower_index_dtype() {
  static const RuleSet set("pm_lower_index_dtype", {
      // index(x) op index(y) -> index(x op y), in a dtype that holds all three
      rule("lower-binary", node(ops::Binary, cast(x, kIndex), cast(y, kIndex)).as(u), with(u, x, y, lower_binary)),
      // c -> index(c)
      rule("lower-const", node({Op::CONST, Op::VCONST}).of(kIndex).as(u), with(u, [](UOp u) {
             return u.is_invalid() ? UOp() : u.with_dtype(select_dtype(u)).cast(u.dtype());
           })),
      // cond ? index(x) : index(y) -> index(cond ? x : y)
      rule("lower-where", node(Op::WHERE, cond, cast(x, kIndex), cast(y, kIndex)).of(kIndex), with(cond, x, y, lower_where)),
      // range(index(end)) -> index(range(end))
      rule("lower-range", each(Op::RANGE, cast(end_, kIndex)).as(r), with(r, end_, [](UOp r, UOp end) {
             return r.replace({.dtype = end.dtype(), .src = UOpSpan(end)}).cast(dtypes::index);
           })),
      // {index(x), index(y)} -> index({x, y})
      rule("lower-vectorize", each(Op::VECTORIZE, cast(anything(), kIndex)).as(v), with(v, lower_vectorize)),
      // special(index(n)) -> index(special(n)): a launch dimension is an int32
      rule("lower-special", node(Op::SPECIAL, cast(x, kIndex)).as(u), with(u, x, [](UOp u, UOp x) {
             return u.replace({.dtype = dtypes::int32, .src = UOpSpan(x)}).cast(dtypes::index);
           })),
      // var -> index(var as an int32)
      rule("lower-variable", node(Op::DEFINE_VAR).of(kIndex).as(u), with(u, [](UOp u) { return u.with_dtype(dtypes::int32).cast(dtypes::index); })),
      // bind(index(var), index(c)) -> index(bind(var, c))
      rule("lower-bind", node(Op::BIND, cast(x, kIndex), cast(c, kIndex)), with(x, c, lower_bind)),
      // buf[cond ? i : invalid] -> buf[i, cond]
      rule("invalid-to-gate", node(Op::INDEX, buf, where(cond, idx, node(Op::CONST).arg(Const::invalid()))),
           with(buf, idx, cond, [](UOp buf, UOp idx, UOp cond) { return buf.index_ptr(idx, cond); })),
      // buf[index(i)] -> buf[i]
      rule("index-drops-cast", node(Op::INDEX, buf, cast(idx.of(dtypes::ints))), with(buf, idx, [](UOp buf, UOp idx) { return buf.index_ptr(idx); })),
      // buf[index(i), gate] -> buf[i, gate]
      rule("gated-index-drops-cast", node(Op::INDEX, buf, cast(idx.of(dtypes::ints)), gate),
           with(buf, idx, gate, [](UOp buf, UOp idx, UOp gate) { return buf.index_ptr(idx, gate); })),
      // sink(index(x), ...) -> sink(x, ...)
      rule("root-drops-casts", node({Op::SINK, Op::NOOP, Op::END}).as(n), with(n, drop_index_casts)),
  });
  return set;
}

const RuleSet& lower_index_dtype_stage() {
  static const RuleSet set("lower all index dtypes", {&pm_lower_index_dtype(), &load_store_indexing()});
  return set;
}

}  // namespace tgc
