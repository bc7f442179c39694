#include "lib/validate/compare_outputs.h"

#include <algorithm>

#include "lib/runtime/ref/rounding.h"
#include "lib/uop/graph.h"

namespace tgc {

ToleranceOptions CompareOptions::tolerance_for(UOp root, const Array& expected) const {
  const bool is_asked = tolerance.rtol || tolerance.atol || tolerance.ulp;
  if (is_asked || !expected_file.empty()) return tolerance;
  return tolerance_between_devices(expected, coarsest_rounding(root), has_summed_terms(root));
}

Result<std::vector<Comparison>> compare_outputs(UOp root, const Arrays& actual, const Arrays& expected,
                                                const CompareOptions& options) {
  return catch_failures([&] {
    std::vector<Comparison> out;
    for (const NamedArray& e : expected) {
      const Array* a = find_array(actual, e.name);
      if (!a) throw Failure("the kernel stores no array '" + e.name + "'");
      const ToleranceOptions tolerance = options.tolerance_for(root, e.array);
      out.push_back(std::move(compare_arrays(e.name, *a, e.array, tolerance).value_or_throw()));
    }
    return out;
  });
}

namespace {

bool is_maximum(UOp u) { return u.is(Op::MAX) || (u.is(Op::REDUCE) && u.arg().op() == Op::MAX); }

bool may_exceed_dtype(UOp u) {
  return u.in({Op::ADD, Op::SUB, Op::MUL, Op::NEG, Op::SHL}) || (u.is(Op::REDUCE) && u.arg().op() != Op::MAX);
}

// Returns true if the result of `u` may change if its integer operands keep bits beyond the width of their dtype.
bool reads_excess_bits(UOp u) {
  return u.in({Op::CMPLT, Op::CMPNE, Op::CMPEQ, Op::IDIV, Op::MOD, Op::SHR}) || is_maximum(u);
}

// Adds to `out` the nodes below `root` whose results C may keep with more bits, if their dtype is narrow.
void find_exceeding_values(UOp root, UOpSet& out) {
  for (UOp u : toposort(root)) {
    const bool passes_on = u.in({Op::WHERE, Op::AND, Op::OR, Op::XOR}) || is_maximum(u);
    if (may_exceed_dtype(u) || (passes_on && std::ranges::any_of(u.src(), [&](UOp s) { return out.contains(s); })))
      out.insert(u);
  }
}

// Returns true if `u` reads bits of a source that do not fit the source's dtype. C computes 8- and 16-bit integers as
// int, and clang computes half as float if the processor has no half arithmetic. So a source that is cast to a wider
// type is not truncated, nor is an integer operand of an op that reads_excess_bits(), or of a cast to a float or bool.
bool reads_promoted_source(UOp u, const UOpSet& exceeding) {
  return std::ranges::any_of(u.src(), [&](UOp s) {
    const DType own = s.dtype().scalar(), to = u.dtype().scalar();
    if (own.itemsize() >= 4 || !exceeding.contains(s)) return false;
    const bool is_wider = u.is(Op::CAST) && to.itemsize() > own.itemsize();
    if (dtypes::is_float(own)) return is_wider && dtypes::is_float(to);
    const bool is_cast_of_all_digits = u.is(Op::CAST) && (dtypes::is_float(to) || dtypes::is_bool(to));
    return dtypes::is_int(own) && (is_wider || is_cast_of_all_digits || reads_excess_bits(u));
  });
}

template <class Is>
bool has_node_where(UOp root, Is is) {
  std::vector<UOp> nodes = toposort(root);
  return std::any_of(nodes.begin(), nodes.end(), is);
}

}  // namespace

std::string expected_divergence(UOp root, const std::vector<Comparison>& arrays, const std::string& renderer) {
  auto differ = [&](auto what) {
    return std::any_of(arrays.begin(), arrays.end(), [&](const Comparison& c) { return !c.has_passed() && what(c); });
  };
  // A MAX is (a < b) ? b : a, so for a NaN its result depends on the order of its operands, which the optimizer
  // changes.
  if (differ([](const Comparison& c) { return c.num_nan_actual != c.num_nan_expected; }) &&
      has_node_where(root, is_maximum))
    return "maxima of NaNs, which depend on the order";
  if (renderer == "LLVM" || !differ([](const Comparison&) { return true; })) return {};
  UOpSet exceeding(root.graph());
  find_exceeding_values(root, exceeding);
  if (has_node_where(root, [&](UOp u) { return reads_promoted_source(u, exceeding); }))
    return "C computes small integers as int and half as float, and a cast to a wider type keeps what does not fit "
           "them";
  return {};
}

}  // namespace tgc
