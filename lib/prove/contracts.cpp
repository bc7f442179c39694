#include "lib/prove/contracts.h"

#include <algorithm>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "lib/prove/launch_contract.h"
#include "lib/rewrite/rewrite.h"
#include "lib/uop/exec_alu.h"
#include "lib/uop/facts.h"
#include "lib/uop/graph.h"
#include "lib/validate/isolated_expr.h"

namespace tgc {
namespace {

UOp strip_afters(UOp u) {
  while (u.is(Op::AFTER)) u = u.src(0);
  return u;
}

std::unordered_set<UOp> node_set_of(std::span<const UOp> nodes) { return {nodes.begin(), nodes.end()}; }

}  // namespace

bool is_same_memory(UOp before, UOp after) {
  if (!before.in(ops::Defines) || !after.is(Op::CAST)) return false;
  UOp now = after.src(0);
  DType a = before.dtype(), b = now.dtype();
  return now.op() == before.op() && now.arg() == before.arg() && after.dtype() == a && a.is_ptr() && b.is_ptr() &&
         !a.is_image() && a.addrspace() == b.addrspace() && a.base().scalar() == b.base() &&
         a.size() * a.base().count() == b.size();
}

namespace {

// Returns true if `operands` have the same forms (lanes.h) as the terms of the REDUCE, in any order.
bool are_reduce_terms(UOp reduce, std::span<const UOp> operands, LaneForms& lanes) {
  const bool is_scalar = reduce.src(0).dtype().count() == 1 && reduce.num_src() > 1;
  for (int lane = 0; lane < reduce.dtype().count(); lane++) {
    std::vector<LaneForms::Form> expected, actual;
    if (is_scalar) {  // if the term is itself a sum, the operands of the sum are the terms
      const std::vector<UOp> parts = split_uop(reduce.src(0), reduce.arg().op());
      for (UOp u : parts) expected.push_back(lanes.form_of_value(u, 0, {}));
    } else {
      expected = lanes.forms_of_terms(reduce, lane, {});
    }
    for (UOp u : operands) actual.push_back(lanes.form_of_value(u, u.dtype().count() > 1 ? lane : 0, {}));
    std::ranges::sort(expected), std::ranges::sort(actual);
    if (expected != actual) return false;
  }
  return true;
}

}  // namespace

namespace {

class RegisterElement {
 public:
  RegisterElement(UOp reg, int64_t element) : reg_(reg), element_(element) {}

  bool is_element_index(UOp u) const {
    return u.is(Op::INDEX) && u.num_src() == 2 && strip_afters(u.src(0)) == reg_ &&
           constant_integer(u.src(1)) == element_;
  }
  // Returns the only store to this element below `root`; null if there is not exactly one, if it has a gate, or if a
  // store with an unknown index may write the element.
  UOp only_store_below(UOp root) const {
    UOp out;
    for (UOp u : toposort(root)) {
      if (!u.is(Op::STORE) || !in_backward_slice_with_self(u.src(0), reg_)) continue;
      const UOp place = u.src(0);
      const bool is_element = place.is(Op::INDEX) && place.num_src() == 2 && strip_afters(place.src(0)) == reg_;
      const auto element = is_element ? constant_integer(place.src(1)) : std::nullopt;
      if (!element) return {};
      if (*element != element_) continue;
      if (out || u.num_src() != 2) return {};
      out = u;
    }
    return out;
  }

 private:
  UOp reg_;
  int64_t element_;
};

// Returns true if the store `first`, which sets the register, is in none of the REDUCE's `loops`, and is in all loops
// around the REDUCE and around `end`, the END of the loops that add the terms. Then the register is set exactly once
// before the terms are added.
bool initializes_once(UOp first, UOp reduce, UOp end, const std::unordered_set<UOp>& loops) {
  if (std::ranges::any_of(toposort(first), [&](UOp u) { return loops.contains(u); })) return false;
  auto is_around = [&](UOp r) { return is_inside_range(first, r); };
  return std::ranges::all_of(reduce.ranges(), is_around) && std::ranges::all_of(end.ranges(), is_around);
}

}  // namespace

bool is_accumulator_of(UOp before, UOp after, LaneForms& lanes) try {
  if (before.is(Op::REDUCE) && before.num_src() == 1 && after.is(before.arg().op())) {
    return are_reduce_terms(before, split_uop(after, before.arg().op()), lanes);
  }
  if (!before.is(Op::REDUCE) || !after.is(Op::INDEX) || !after.src(0).is(Op::AFTER)) return false;
  const Op op = before.arg().op();
  const UOp reg = strip_afters(after.src(0)), end = after.src(0).src(1);
  const auto number = after.num_src() == 2 ? constant_integer(after.src(1)) : std::nullopt;
  if (!reg.is(Op::DEFINE_REG) || after.src(0).num_src() != 2 || !end.is(Op::END) || !number) return false;
  if (after.src(0).src(0) != reg || in_backward_slice_with_self(before, reg)) return false;
  const RegisterElement element(reg, *number);
  std::unordered_set<UOp> loops;
  for (UOp s : before.src().subspan(1))
    if (s.is(Op::RANGE)) loops.insert(s);
    else return false;
  if (node_set_of(end.src().subspan(1)) != loops) return false;
  UOp store;
  const UOp stores = end.src(0);
  for (UOp x : stores.is(Op::GROUP) ? stores.src() : std::span<const UOp>(&stores, 1)) {
    if (!x.is(Op::STORE) || !x.src(0).is(Op::INDEX)) return false;
    if (strip_afters(x.src(0).src(0)) != reg) continue;
    const auto at = constant_integer(x.src(0).src(1));
    if (!at) return false;
    if (*at != *number) continue;
    if (store || x.num_src() != 2 || !element.is_element_index(x.src(0))) return false;
    store = x;
  }
  if (!store) return false;
  // one operand of the stored value must be the register; the others are the terms
  const std::vector<UOp> operands = split_uop(store.src(1), op);
  UOp register_read;
  std::vector<UOp> rest;
  for (UOp u : operands) {
    const bool reads = u.is(Op::INDEX) && strip_afters(u.src(0)) == reg;
    if (reads && (register_read || !element.is_element_index(u))) return false;
    if (reads) register_read = u;
    else rest.push_back(u);
  }
  if (!register_read || !register_read.src(0).is(Op::AFTER)) return false;
  // the register must be read once for each iteration of the loops, after the only store that sets it
  const UOp start = register_read.src(0), first = element.only_store_below(start);
  std::unordered_set<UOp> needs = node_set_of(start.src().subspan(1));
  if (!std::ranges::all_of(loops, [&](UOp r) { return needs.contains(r); })) return false;
  if (!first || !first.src(1).is_const() || !initializes_once(first, before, end, loops)) return false;
  const Const identity = identity_element(op, before.dtype().scalar());
  return py_equal(first.src(1).arg().to_const(), identity) && are_reduce_terms(before, rest, lanes);
} catch (const LaneForms::TooManyPositions&) { return false; }

bool is_loop_split_into_parts(UOp before, UOp after) {
  auto ends_one = [](UOp u) { return u.is(Op::END) && u.num_src() == 2 && u.src(1).is(Op::RANGE); };
  if (!ends_one(before) || !after.is(Op::GROUP)) return false;
  const UOp loop = before.src(1), body = before.src(0);
  const int64_t size = constant_size(loop);
  int64_t done = 0;
  for (UOp end : after.src()) {
    if (!ends_one(end)) return false;
    const UOp part = end.src(1);
    const int64_t n = constant_size(part);
    if (n <= 0 || in_backward_slice_with_self(body, part)) return false;
    if (!(substitute(body, {{loop, part + Const(done)}}) == end.src(0))) return false;
    if (__builtin_add_overflow(done, n, &done)) return false;
  }
  return done == size;
}

std::optional<std::pair<UOp, UOp>> terms_times_factors(UOp before, UOp after) {
  if (!before.is(Op::REDUCE) || !before.arg().is(Op::ADD) || before.dtype() != before.src(0).dtype()) return {};
  const std::vector<UOp> factors = split_uop(after, Op::MUL);
  const auto loops = before.src().subspan(1);
  auto is_sum = [&](UOp u) {
    return u.is(Op::REDUCE) && u.arg() == before.arg() && std::ranges::equal(u.src().subspan(1), loops);
  };
  auto sum = std::ranges::find_if(factors, is_sum);
  if (sum == factors.end() || factors.size() < 2 || !std::ranges::all_of(loops, [](UOp s) { return s.is(Op::RANGE); }))
    return {};
  UOp term = sum->src(0);
  for (auto f = factors.begin(); f != factors.end(); ++f) {
    if (f == sum) continue;
    if (std::ranges::any_of(loops, [&](UOp loop) { return in_backward_slice_with_self(*f, loop); })) return {};
    term = term.alu(Op::MUL, *f);
  }
  if (term.dtype() != before.dtype()) return {};
  return std::pair(before.src(0), term);
}

UOp remove_ends(UOp u) {
  while (u.is(Op::END)) u = u.src(0);
  return u;
}

// Returns each RANGE of the REDUCE once. A merged loop is an expression of several RANGEs.
static std::vector<UOp> reduce_ranges_of(UOp reduce) {
  std::vector<UOp> out;
  for (UOp s : reduce.src().subspan(1))
    for (UOp x : toposort(s))
      if (x.is(Op::RANGE) && std::ranges::find(out, x) == out.end()) out.push_back(x);
  return out;
}

std::optional<std::pair<UOp, UOp>> terms_over_same_loops(UOp before, UOp after) {
  if (!before.is(Op::REDUCE) || !after.is(Op::REDUCE) || !(before.arg() == after.arg())) return {};
  if (before.dtype() != after.dtype() || before.src(0).dtype() != after.src(0).dtype()) return {};
  auto has_axes = [](UOp u) {
    return std::ranges::any_of(u.src().subspan(1), [](UOp s) {
      return std::ranges::any_of(toposort(s), [](UOp x) { return x.is(Op::UNROLL); });
    });
  };
  if (!std::ranges::is_permutation(reduce_ranges_of(before), reduce_ranges_of(after)) || has_axes(before) ||
      has_axes(after))
    return {};
  return std::pair(before.src(0), after.src(0));
}

bool have_same_loop_order(UOp reduce, UOp other) { return reduce_ranges_of(reduce) == reduce_ranges_of(other); }

bool are_ends_of_same_loops(UOp before, UOp after) {
  // loops with the same args and sizes are the same, even if their indices have other dtypes
  auto loops = [](UOp u) {
    std::set<std::string> out;
    for (; u.is(Op::END); u = u.src(0))
      for (UOp s : u.src().subspan(1))
        for (UOp x : toposort(s)) {
          if (!x.is(Op::RANGE)) continue;
          out.insert(x.arg().repr() + " " + loop_size_text(x));
        }
    return out;
  };
  return (before.is(Op::END) || after.is(Op::END)) && loops(before) == loops(after);
}

}  // namespace tgc
