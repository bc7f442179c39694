#include "lib/spec/loops.h"

#include <algorithm>

#include "lib/uop/facts.h"
#include "lib/uop/graph.h"
#include "lib/uop/wellformed.h"

namespace tgc {
namespace {

bool depends_on(UOp u, UOp on) {
  std::vector<UOp> below = toposort(u);
  return std::ranges::find(below, on) != below.end();
}

// Returns the DEFINE_GLOBAL to which the first sources of `address` lead; the empty UOp if there is none.
UOp buffer_of(UOp address) {
  while (!address.is(Op::DEFINE_GLOBAL)) {
    if (!address.in({Op::INDEX, Op::CAST, Op::AFTER, Op::GEP, Op::PTRCAT, Op::VECTORIZE}) || address.num_src() == 0)
      return {};
    address = address.src(0);
  }
  return address;
}

bool may_run_twice(UOp range) {
  Const size = range.vmax();
  return size.is_int() && size.as_int() > 0;
}

bool overwrites_element(UOp store, UOp range) {
  UOp buffer = buffer_of(store.src(0));
  return buffer && range.is(Op::RANGE) && may_run_twice(range) && !depends_on(store.src(0), range) &&
         is_inside_range(store.src(1), range) && !depends_on(store.src(1), buffer);
}

}  // namespace

std::optional<SpecViolation> verify_loops(std::span<const UOp> nodes) {
  for (size_t i = 0; i < nodes.size(); i++) {
    UOp u = nodes[i];
    if (u.is(Op::RANGE) && u.num_src() > 0 && u.src(0).is(Op::CONST) && u.src(0).vmax().is_int() &&
        u.src(0).vmax().as_int() < 0)
      return SpecViolation{.node = u, .node_position = i, .rule = nullptr, .reason = "its size is negative"};
    if (!u.is(Op::END) || !u.src(0).is(Op::STORE) || u.src(0).num_src() < 2) continue;
    UOp store = u.src(0);
    for (UOp range : u.src().subspan(1))
      if (overwrites_element(store, range)) {
        size_t at = size_t(std::ranges::find(nodes, store) - nodes.begin());
        return SpecViolation{.node = store, .node_position = at, .rule = nullptr,
                             .reason = "every iteration of the range " + range.arg().repr() +
                                    " stores a value of its own to the same element"};
      }
  }
  return std::nullopt;
}

bool is_sound(UOp root, Spec spec) {
  std::vector<UOp> nodes = toposort(root);
  auto is_empty_loop = [](UOp u) { return u.is(Op::RANGE) && u.num_src() > 0 && u.vmax().to_double() < 0; };
  return std::ranges::none_of(nodes, is_empty_loop) && !first_malformed_node(nodes) && !verify(nodes, spec) &&
         !verify_loops(nodes);
}

}  // namespace tgc
