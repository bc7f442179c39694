#include "lib/session/known_causes.h"

#include <algorithm>

#include "lib/uop/graph.h"

namespace tgc {
namespace {

bool is_maximum(UOp u) { return u.is(Op::MAX) || (u.is(Op::REDUCE) && u.arg().op() == Op::MAX); }

// C computes 8- and 16-bit integers as int, and clang half as float where the processor has no such arithmetic: a
// result that is cast to a wider type at once has not been cut to its own.
bool is_promoted(UOp u) {
  if (!u.is(Op::CAST) || dtypes::is_float(u.dtype()) != dtypes::is_float(u.src(0).dtype())) return false;
  DType own = u.src(0).dtype().scalar();
  return own.itemsize() < 4 && u.dtype().scalar().itemsize() > own.itemsize() &&
         u.src(0).in({Op::ADD, Op::SUB, Op::MUL, Op::NEG, Op::SHL});
}

template <class Is>
bool any_node(UOp root, Is is) {
  std::vector<UOp> nodes = toposort(root);
  return std::any_of(nodes.begin(), nodes.end(), is);
}

}  // namespace

std::string known_cause(UOp root, const std::vector<Comparison>& arrays, const std::string& renderer) {
  auto differ = [&](auto what) {
    return std::any_of(arrays.begin(), arrays.end(), [&](const Comparison& c) { return !c.passed() && what(c); });
  };
  // a MAX is (a < b) ? b : a: what becomes of a NaN depends on which operand it is, and the optimizer reorders
  // reductions
  if (differ([](const Comparison& c) { return c.nan_actual != c.nan_expected; }) && any_node(root, is_maximum))
    return "maxima of NaNs, which depend on the order";
  if (renderer != "LLVM" && differ([](const Comparison&) { return true; }) && any_node(root, is_promoted))
    return "C computes small integers as int and half as float, and a cast to a wider type keeps what does not fit "
           "them";
  return {};
}

}  // namespace tgc
