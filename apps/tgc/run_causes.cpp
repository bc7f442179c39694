#include "apps/tgc/run_causes.h"

#include <algorithm>

#include "lib/uop/graph.h"

namespace tgc {
namespace {

bool is_maximum(UOp u) { return u.is(Op::MAX) || (u.is(Op::REDUCE) && u.arg().op() == Op::MAX); }

// C computes 8- and 16-bit integers as int, so an arithmetic result that is cast to a wider type at once has not been cut to its own.
bool is_promoted(UOp u) {
  if (!u.is(Op::CAST) || !dtypes::is_int(u.dtype()) || !dtypes::is_int(u.src(0).dtype())) return false;
  return u.src(0).dtype().scalar().itemsize() < 4 && u.dtype().scalar().itemsize() > u.src(0).dtype().scalar().itemsize() &&
         (u.src(0).is(Op::ADD) || u.src(0).is(Op::SUB) || u.src(0).is(Op::MUL) || u.src(0).is(Op::NEG) || u.src(0).is(Op::SHL));
}

template <class Is>
bool any_node(UOp root, Is is) {
  std::vector<UOp> nodes = toposort(root);
  return std::any_of(nodes.begin(), nodes.end(), is);
}

}  // namespace

std::string known_cause(UOp root, const std::vector<Comparison>& arrays, const std::string& renderer) {
  auto differ = [&](auto what) { return std::any_of(arrays.begin(), arrays.end(), [&](const Comparison& c) { return !c.passed() && what(c); }); };
  // a MAX is (a < b) ? b : a: what becomes of a NaN depends on which operand it is, and the optimizer reorders reductions
  if (differ([](const Comparison& c) { return c.nan_actual != c.nan_expected; }) && any_node(root, is_maximum)) return "maxima of NaNs, which depend on the order";
  if (renderer != "LLVM" && differ([](const Comparison& c) { return dtypes::is_int(c.dtype); }) && any_node(root, is_promoted))
    return "C computes 8- and 16-bit integers as int, and a cast to a wider type keeps what does not fit them";
  return {};
}

bool adds_up(UOp root) {
  return any_node(root, [](UOp u) { return (u.is(Op::REDUCE) && u.arg().op() == Op::ADD) || u.is(Op::WMMA) || u.is(Op::DEFINE_REG); });
}

}  // namespace tgc
