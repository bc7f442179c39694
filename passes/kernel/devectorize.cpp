#include "passes/kernel/stages.h"

#include "lib/support/limits.h"
#include "lib/uop/graph.h"
#include "passes/pipeline.h"
#include "passes/symbolic/symbolic.h"

namespace tgc {

using namespace pat;

namespace {

int64_t num_elements(Arg axes) {
  int64_t n = 1;
  for (Arg pair : axes.items()) n = checked_product(Limit::Nodes, n, pair[1].small_int());
  return n;
}

// Splits a WMMA whose vectors contain several tensor core operations into one WMMA per operation.
UOp no_vectorized_wmma(UOp wmma) {
  Graph& graph = wmma.graph();
  auto sizes = wmma.arg()[6].items();
  int64_t out_size = num_elements(sizes.back());
  if (wmma.dtype().count() == out_size) return {};
  std::vector<UOp> elements;
  int64_t groups = wmma.src(2).dtype().count() / out_size;
  for (int64_t k = 0; k < groups; k++) {
    std::vector<UOp> src;
    for (size_t s = 0; s < 3; s++) {
      int64_t size = num_elements(sizes[s]);
      src.push_back(wmma.src(s).gep(consecutive_numbers(k * size, size)));
    }
    UOp one = graph.node(Op::WMMA, wmma.dtype().scalar().vec(out_size), src, wmma.arg());
    for (int64_t i = 0; i < out_size; i++) elements.push_back(one.gep(i));
  }
  return graph.node(Op::VECTORIZE, wmma.dtype(), elements);
}

UOp no_vectorized_buf(UOp buf) {
  DType p = buf.dtype();
  return buf.with_dtype(p.base().scalar().ptr(p.size() * p.count(), p.addrspace())).cast(p);
}

UOp no_vectorized_index(UOp buf, UOp vector, UOp idx) {
  int64_t n = vector.dtype().count();
  if (idx.dtype().count() != 1) throw Failure("the index of a buffer of vectors is " + std::string(idx.dtype().repr()));
  std::vector<Const> lanes;
  for (int64_t i = 0; i < n; i++) lanes.push_back(i);
  return buf.broadcast(n).index_ptr(idx.broadcast(n) * Const(n) + buf.graph().constant(dtypes::index.vec(n), lanes));
}

// Rewrites an INDEX of `many`, a VECTORIZE or GEP of the pointer `vector`, to an INDEX of the scalar buffer `buf`.
UOp no_vectorized_index_broadcast(UOp buf, UOp vector, UOp many, UOp idx) {
  int64_t n = vector.dtype().count(), before = many.dtype().vcount();
  std::vector<int64_t> picks;
  std::vector<Const> lanes;
  for (int64_t i = 0; i < n; i++)
    for (int64_t k = 0; k < before; k++) {
      picks.push_back(k);
      lanes.push_back(many.is(Op::GEP) ? Const(i + many.arg()[size_t(k)].small_int()) : Const(i));
    }
  return buf.broadcast(n * before)
      .index_ptr(idx.gep(picks) * Const(n) + buf.graph().constant(dtypes::index.vec(n * before), lanes));
}

constexpr OpSet kOnChip{Op::DEFINE_LOCAL, Op::DEFINE_REG};

UOp vectorize_elements(UOp constant) {
  Graph& graph = constant.graph();
  DType scalar = constant.dtype().scalar();
  std::vector<UOp> src;
  if (constant.arg().is_tuple())
    for (Arg v : constant.arg().items()) src.push_back(graph.constant(scalar, v.to_const()));
  else src.assign(size_t(constant.dtype().vcount()), graph.constant(scalar, constant.arg().to_const()));
  return graph.node(Op::VECTORIZE, constant.dtype(), src);
}

UOp vectorize_gep(UOp gep) {
  if (gep.arg().items().size() <= 1) return {};
  std::vector<UOp> src;
  for (Arg i : gep.arg().items()) src.push_back(gep.src(0).gep(i.small_int()));
  return gep.graph().node(Op::VECTORIZE, gep.dtype(), src);
}

UOp add_alt_value(UOp x) {
  if (x.num_src() > 1 && !x.src(1).in({Op::CUSTOM, Op::STORE, Op::BARRIER})) return {};
  std::vector<UOp> src{x.src(0), x.const_like(0)};
  src.insert(src.end(), x.src().begin() + 1, x.src().end());
  return x.with_src(src);
}

UOp with_alt_value(UOp load, UOp alt) {
  std::vector<UOp> src{load.src(0), alt.cast(load.dtype())};
  if (load.num_src() > 2) src.insert(src.end(), load.src().begin() + 2, load.src().end());
  return load.with_src(src).cast(alt.dtype());
}

}  // namespace

UOp no_vectorized_alu(UOp alu) {
  int64_t n = alu.dtype().vcount();
  if (n == 1) return {};
  if (alu.is(Op::WHERE) && alu.src(2).is_invalid()) return {};  // do not split the gated index of an image
  Graph& graph = alu.graph();
  std::vector<UOp> elements, src(alu.num_src());
  elements.reserve(size_t(n));
  for (int64_t i = 0; i < n; i++) {
    for (size_t s = 0; s < src.size(); s++)
      if (i == 0 || !alu.src(s).is_const()) src[s] = alu.src(s).gep(i);
    elements.push_back(graph.node(alu.op(), alu.dtype().scalar(), src, alu.arg()));
  }
  return graph.node(Op::VECTORIZE, alu.dtype(), elements);
}

const RuleSet& devectorize_buf_and_index() {
  static const RuleSet set("devectorize_buf_and_index", {
      rule("scalar-buffer", node(kOnChip).as(buf), with<no_vectorized_buf>(buf)),
      // cast(buf)[i] -> {buf, buf, ...}[{i * n, i * n + 1, ..., i * n + n - 1}]
      rule("index-scalar-buffer", node(Op::INDEX, cast(or_after(node(kOnChip), buf)).as(vec), idx), with<no_vectorized_index>(buf, vec, idx)),
      // {cast(buf), cast(buf), ...}[i] -> {buf, ...}[{i.0 * n + l, i.1 * n + l, ... for l = 0, 1, ..., n - 1}]
      rule("index-broadcast-buffer", node(Op::INDEX, each(Op::VECTORIZE, cast(or_after(node(kOnChip), buf)).as(vec)).as(b), idx),
           with<no_vectorized_index_broadcast>(buf, vec, b, idx)),
      // gep(cast(buf), (p, q))[i] -> {buf, ...}[{i.0 * n + p + l, i.1 * n + q + l for l = 0, 1, ..., n - 1}]
      rule("index-gep-buffer", node(Op::INDEX, node(Op::GEP, cast(or_after(node(kOnChip), buf)).as(vec)).as(b), idx),
           with<no_vectorized_index_broadcast>(buf, vec, b, idx)),
  });
  return set;
}

const RuleSet& devectorize() {
  static const RuleSet own("devectorize", {
      rule("cast-after-after", any_len(Op::AFTER, node(Op::CAST).as(x)).as(a),
           with(x, a, [](UOp x, UOp a) { return x.src(0).after(a.src().subspan(1)).cast(x.dtype()); })),
      rule("scalar-alu", node(ops::Elementwise).as(alu_node), with<no_vectorized_alu>(alu_node)),
      rule("short-wmma", node(Op::WMMA).as(wmma), with<no_vectorized_wmma>(wmma)),
  });
  static const RuleSet set("devectorize", {&own, &devectorize_buf_and_index()});
  return set;
}

const RuleSet& pm_render() {
  static const RuleSet set("pm_render", {
      rule("vectorize-const", node(Op::CONST).as(a), with(a, [](UOp a) { return a.dtype().vcount() > 1 ? vectorize_elements(a) : UOp(); })),
      rule("vectorize-vconst", node(Op::VCONST).as(a), with<vectorize_elements>(a)),
      rule("vectorize-gep", node(Op::GEP).as(g), with<vectorize_gep>(g)),
      rule("gep-of-scalar", node(Op::GEP).as(g), with(g, [](UOp g) {
             auto picks = g.arg().items();
             return g.src(0).dtype().vcount() == 1 && picks.size() == 1 && picks[0] == Arg(0) ? g.src(0) : UOp();
           })),
      rule("vectorize-one", node(Op::VECTORIZE, x), x),
      rule("masked-load-alt", any_len(Op::LOAD, or_casted(node(Op::INDEX, anything(), anything(), anything()))).as(x), with<add_alt_value>(x)),
      rule("where-to-alt", where(cond, or_casted(any_len(Op::LOAD, or_casted(node(Op::INDEX, anything(), idx, cond))).as(l)), a),
           with<with_alt_value>(l, a)),
      rule("where-not-to-alt", where(cond, a, or_casted(any_len(Op::LOAD, or_casted(node(Op::INDEX, anything(), idx, logical_not(cond)))).as(l))),
           with<with_alt_value>(l, a)),
  });
  return set;
}

const RuleSet* devectorize_stage(const KernelJob& job) {
  static const RuleSet kept("devectorize (0)",
                            {&sym(), &load_store_folding(), &correct_load_store(), &load_store_indexing()});
  static const RuleSet scalar("devectorize (1)", {&sym(), &devectorize(), &load_store_folding(), &correct_load_store(),
                                                  &load_store_indexing()});
  static const RuleSet as_is("devectorize (2)", {&sym(), &load_store_folding(), &load_store_indexing()});
  int64_t mode = job.settings().DEVECTORIZE;
  return mode >= 2 ? &as_is : mode ? &scalar : &kept;
}

}  // namespace tgc
