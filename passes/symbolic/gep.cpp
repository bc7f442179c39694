// GEP pushing: moves a GEP (element selection) from the result of an op to its sources. Mirrors tinygrad
// uop/symbolic.py: gep_pushing, gep_through_wmma.
#include "lib/uop/graph.h"
#include "passes/symbolic/symbolic.h"

namespace tgc {

using namespace pat;

namespace {

std::vector<int64_t> gep_indices(UOp gep) {
  std::vector<int64_t> out;
  out.reserve(gep.arg().items().size());
  for (Arg i : gep.arg().items()) out.push_back(i.small_int());
  return out;
}

Arg element_of(Arg tuple, int64_t i) {
  if (i < 0 || size_t(i) >= tuple.items().size())
    throw Failure("GEP element " + std::to_string(i) + " is not in " + tuple.repr());
  return tuple[size_t(i)];
}

UOp gep_of_gep(UOp inner, UOp outer) {
  std::vector<Arg> composed;
  composed.reserve(outer.arg().items().size());
  for (Arg i : outer.arg().items()) composed.push_back(element_of(inner.arg(), i.small_int()));
  return inner.src(0).gep(inner.graph().tuple(composed));
}

UOp gep_of_vectorize(UOp gep, UOp vec) {
  auto source = [&](Arg index) {
    int64_t i = index.small_int();
    if (i < 0 || size_t(i) >= vec.num_src())
      throw Failure("GEP element " + std::to_string(i) + " is not in a vector of " + std::to_string(vec.num_src()));
    return vec.src(size_t(i));
  };
  auto indices = gep.arg().items();
  if (indices.size() == 1) return source(indices[0]);
  std::vector<UOp> picked;
  picked.reserve(indices.size());
  for (Arg i : indices) picked.push_back(source(i));
  return gep.graph().node(Op::VECTORIZE, gep.dtype(), picked);
}

UOp gep_of_vconst(UOp gep, UOp c) {
  std::vector<Const> picked;
  for (int64_t i : gep_indices(gep)) picked.push_back(element_of(c.arg(), i).to_const());
  return gep.const_like(picked);
}

bool takes_all_in_order(UOp g) {
  if (g.dtype().is_ptr()) return false;
  auto items = g.arg().items();
  if (int(items.size()) != g.src(0).dtype().count()) return false;
  for (size_t i = 0; i < items.size(); i++)
    if (items[i].small_int() != int64_t(i)) return false;
  return true;
}

UOp gep_through_alu(UOp gep, UOp alu) {
  if (gep.dtype().is_ptr() || alu.dtype().is_ptr()) return {};
  std::vector<UOp> src;
  src.reserve(alu.num_src());
  for (UOp s : alu.src()) src.push_back(s.gep(gep.arg()));
  return gep.graph().node(alu.op(), alu.dtype().scalar().vec(gep.dtype().count()), src, alu.arg());
}

UOp expand_cat(UOp x) {
  if (x.dtype().is_ptr()) return {};
  std::vector<UOp> src;
  src.reserve(size_t(x.dtype().count()));
  for (UOp y : x.src())
    for (int i = 0; i < y.dtype().count(); i++) src.push_back(y.gep(i));
  return x.graph().node(Op::VECTORIZE, x.dtype(), src);
}

UOp vectorize_of_geps(UOp v, UOp x) {
  std::vector<Arg> indices;
  indices.reserve(v.num_src());
  for (UOp g : v.src()) {
    if (g.arg().items().size() != 1) throw Failure("a VECTORIZE source must be one element, not GEP " + g.arg().repr());
    indices.push_back(g.arg()[0]);
  }
  return x.gep(v.graph().tuple(indices));
}

// Returns the product of the sizes of one operand's upcast axes, ((axis, size), ...).
int64_t num_elements(Arg axes) {
  int64_t out = 1;
  for (Arg axis : axes.items()) out *= axis[1].small_int();
  return out;
}

// If the GEP selects whole results of a WMMA that computes several, pushes the GEP into the operands, so that only the
// selected results are computed.
UOp gep_through_wmma(UOp gep, UOp wmma) {
  constexpr size_t kUpcastAxes = 6;
  auto axes = wmma.arg()[kUpcastAxes].items();
  int64_t out_size = num_elements(axes.back());
  auto indices = gep_indices(gep);
  auto n = int64_t(indices.size());
  std::vector<int64_t> starts;
  for (int64_t k = 0; k < n; k += out_size) starts.push_back(indices[size_t(k)]);
  for (int64_t i = 0; i < out_size; i++) {
    size_t count = 0;
    for (int64_t k = i; k < n; k += out_size, count++)
      if (indices[size_t(k)] - i != starts[count]) return {};
    if (count != starts.size()) return {};
  }
  std::vector<UOp> src;
  for (size_t s = 0; s < std::min(wmma.num_src(), axes.size()); s++) {
    int64_t size = num_elements(axes[s]);
    std::vector<int64_t> picked;
    for (int64_t w : starts)
      for (int64_t k = 0; k < size; k++) picked.push_back(w / out_size * size + k);
    src.push_back(wmma.src(s).gep(picked));
  }
  return gep.graph().node(Op::WMMA, gep.dtype(), src, wmma.arg());
}

}  // namespace

const RuleSet& gep_pushing() {
  static const RuleSet set("gep_pushing", {
      rule("gep-of-gep", node(Op::GEP, node(Op::GEP).as(x)).as(y), with<gep_of_gep>(x, y)),
      rule("gep-of-vectorize", node(Op::GEP, node(Op::VECTORIZE).as(vec)).as(g), with<gep_of_vectorize>(g, vec)),
      rule("gep-of-const", node(Op::GEP, c.scalar()).as(g), const_like(g, c)),
      rule("gep-of-vconst", node(Op::GEP, node(Op::VCONST).as(c)).as(g), with<gep_of_vconst>(g, c)),
      rule("gep-of-void", node(Op::GEP, x.of(dtypes::void_)), x),
      rule("gep-in-order", node(Op::GEP, x).as(g), x, when<takes_all_in_order>(g)),
      rule("gep-through-alu", node(Op::GEP, node(ops::Elementwise).as(alu_node)).as(g), with<gep_through_alu>(g, alu_node)),
      rule("cat-to-vectorize", node(Op::CAT).as(x), with<expand_cat>(x)),
      rule("vectorize-of-geps", each(Op::VECTORIZE, node(Op::GEP, x)).as(v), with<vectorize_of_geps>(v, x)),
      rule("gep-through-wmma", node(Op::GEP, node(Op::WMMA).as(wmma)).as(g), with<gep_through_wmma>(g, wmma)),
  });
  return set;
}

}  // namespace tgc
