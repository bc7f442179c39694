#include "lib/validate/side_expressions.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "lib/rewrite/rewrite.h"
#include "lib/uop/facts.h"
#include "lib/uop/graph.h"
#include "lib/validate/isolated_expr.h"
#include "lib/validate/tensor_element.h"

namespace tgc {

namespace {

std::unordered_set<UOp> ended_ranges(UOp u, int64_t start) {
  std::unordered_set<UOp> out;
  for (UOp end : u.src().subspan(std::min(size_t(start), u.num_src())))
    for (UOp x : toposort(end))
      if (x.is(Op::RANGE)) out.insert(x);
  return out;
}

// Returns true if both sides are the same node, or end the same loops in another order or form.
bool are_trivially_equal(const RewriteSides& s) {
  if (!s.before || !s.after || s.before == s.after) return s.before && s.after;
  int64_t start = range_start(s.before.op());
  if (start < 0 || s.before.op() != s.after.op() || s.before.dtype() != s.after.dtype() ||
      !(s.before.arg() == s.after.arg()))
    return false;
  auto inner = [&](UOp u) { return u.src().first(std::min(size_t(start), u.num_src())); };
  return std::ranges::equal(inner(s.before), inner(s.after)) &&
         ended_ranges(s.before, start) == ended_ranges(s.after, start);
}
bool is_computed(UOp u) {
  constexpr OpSet kOthers{Op::CAST, Op::BITCAST, Op::CONST, Op::VCONST, Op::VECTORIZE, Op::GEP, Op::CAT, Op::REDUCE};
  return u && u.in(ops::ALU | kOthers) && u.dtype().is_value() && u.dtype() != dtypes::void_;
}
bool has_lane_count_mismatch(UOp u, int depth) {
  if (!is_computed(u)) return false;
  for (size_t i = 0; i < u.num_src(); i++) {
    UOp s = u.src(i);
    bool is_each = u.in(ops::ALU | OpSet{Op::CAST}) && s.dtype().is_value() && !(u.is(Op::WHERE) && i == 0);
    if (is_each && s.dtype().count() != u.dtype().count()) return true;
    if (depth > 1 && has_lane_count_mismatch(s, depth - 1)) return true;
  }
  return false;
}

// Returns true if the sides have different dtypes, or if only `after` has a node whose source has a wrong number of
// elements. Looks only at nodes that compute values.
bool have_type_mismatch(const RewriteSides& s) {
  if (!is_computed(s.before) || !is_computed(s.after)) return false;
  if (s.before.dtype() != s.after.dtype()) return true;
  constexpr int kDepth = 4;
  return has_lane_count_mismatch(s.after, kDepth) && !has_lane_count_mismatch(s.before, kDepth);
}

// Returns the number of scalars at the addresses of `u`; a pointer to vectors points to several.
int64_t num_scalars_at(UOp u, const IsolatedExpr& place) {
  return place.value.dtype().count() * (u.dtype().is_ptr() ? u.dtype().base().count() : 1);
}

// Returns the offsets of the `n` scalars at the addresses of `u`; null if that is impossible.
UOp scalar_offsets(UOp u, const IsolatedExpr& place, int64_t n) {
  const int64_t places = place.value.dtype().count(), each = n / places;
  if (places == n) return place.value;
  if (num_scalars_at(u, place) != n || (place.valid && place.valid.dtype().count() > 1)) return {};
  std::vector<UOp> out;
  for (int64_t i = 0; i < n; i++) {
    UOp first = places > 1 ? place.value.gep(i / each) : place.value;
    out.push_back(first.cast(dtypes::index) + Const(i % each));
  }
  return u.graph().node(Op::VECTORIZE, dtypes::index.vec(n), out);
}

bool is_element_at(UOp u, UOp index) {
  if (u.is(Op::LOAD) && u.num_src() == 1) u = u.src(0);
  return u.is(Op::INDEX) && index.is(Op::INDEX) && std::ranges::equal(u.src(), index.src());
}

struct GatedValue {
  UOp value;
  std::vector<std::pair<UOp, bool>> gates = {};
};

// A choice between a new value and the element itself becomes a gate, because storing the element's own value changes
// nothing.
GatedValue stored_value(UOp store) {
  GatedValue out{store.src(1)};
  while (out.value.is(Op::WHERE) && out.value.src(0).dtype().count() == 1) {
    const bool first = is_element_at(out.value.src(1), store.src(0));
    const bool second = is_element_at(out.value.src(2), store.src(0));
    if (first == second) break;
    out.gates.emplace_back(out.value.src(0), second);
    out.value = out.value.src(second ? 1 : 2);
  }
  if (is_element_at(out.value, store.src(0))) out.value = {};
  return out;
}

}  // namespace

struct SideIsolator::SideEffect {
  UOp memory, offset, valid, value;
  uint32_t leaves;
};

SideExpressions SideIsolator::expressions_of(const RewriteSides& s) {
  using Kind = SideExpressions::Kind;
  if (are_trivially_equal(s)) return {Kind::Same};
  if (have_type_mismatch(s)) return {Kind::Unlike};
  if (!s.before || !s.after) return {Kind::Open};
  std::vector<SideEffect> before, after;
  const bool are_stores = add_effects(before, s.before) && add_effects(after, s.after);
  SideExpressions out{are_stores ? Kind::Stores : Kind::Values,
                      are_stores ? compared_values_of(before, after) : compared_values_of(s)};
  if (out.compared_values.empty()) out.kind = are_stores && before.empty() && after.empty() ? Kind::Same : Kind::Open;
  return out;
}

uint32_t SideIsolator::leaf_set_of(UOp u) {
  return u.is(Op::STORE) ? expr_isolator_.union_set(expr_isolator_.expr_of(u.src(0)).leaf_set,
                                                    expr_isolator_.expr_of(u.src(1)).leaf_set)
                         : expr_isolator_.expr_of(u).leaf_set;
}

std::vector<ComparedValues> SideIsolator::compared_values_of(std::vector<SideEffect>& before,
                                                             std::vector<SideEffect>& after) {
  std::vector<ComparedValues> out;
  if (before.size() != after.size()) return {};
  bool same = true;
  for (auto* side : {&before, &after})
    std::ranges::stable_sort(*side, {}, [](const SideEffect& e) { return e.memory.id(); });
  uint32_t leaves = 0;
  for (const SideEffect& e : before) leaves = expr_isolator_.union_set(leaves, e.leaves);
  for (size_t i = 0; same && i < before.size(); i++)
    same = is_leaf_subset(after[i].leaves, leaves) && add_effect(out, before[i], after[i]);
  return same ? out : std::vector<ComparedValues>();
}

std::vector<ComparedValues> SideIsolator::compared_values_of(const RewriteSides& s) {
  std::vector<ComparedValues> out;
  const IsolatedExpr a = expr_isolator_.expr_of(s.before), b = expr_isolator_.expr_of(s.after);
  if (a.is_address() && b.is_address()) {
    if (!(a.memory == b.memory) || !is_leaf_subset(b.leaf_set, a.leaf_set)) return {};
    const int64_t n = std::max(num_scalars_at(s.before, a), num_scalars_at(s.after, b));
    UOp x = scalar_offsets(s.before, a, n), y = scalar_offsets(s.after, b, n);
    return x && y && add_values(out, x, a.valid, y, b.valid) ? out : std::vector<ComparedValues>();
  }
  UOp x = expr_isolator_.load_value(s.before), y = expr_isolator_.load_value(s.after);
  if (!x || !y || expr_isolator_.is_opaque(s.before)) return {};
  // true if the rewrite made the loop's size depend on leaves that the old size does not depend on
  bool ends_alone = s.before.is(Op::RANGE) && !is_leaf_subset(b.leaf_set, a.leaf_set);
  if (ends_alone ? has_added_variable(b.leaf_set, a.leaf_set) : !is_leaf_subset(b.leaf_set, a.leaf_set)) return {};
  auto valid = [](const IsolatedExpr& c) { return c.is_address() ? UOp() : c.valid; };
  if (!add_values(out, x, valid(a), y, valid(b))) return {};
  for (ComparedValues& v : out) v.is_bounds_comparison = ends_alone;
  return out;
}

bool SideIsolator::is_leaf_subset(uint32_t after, uint32_t before) const {
  return std::ranges::includes(expr_isolator_.leaf_set(before), expr_isolator_.leaf_set(after));
}

// Returns true if the set of leaves `after` has a variable that `before` lacks, such as the placeholder of a
// substitution.
bool SideIsolator::has_added_variable(uint32_t after, uint32_t before) const {
  const auto& had = expr_isolator_.leaf_set(before);
  return std::ranges::any_of(expr_isolator_.leaf_set(after), [&](uint32_t leaf) {
    return expr_isolator_.leaf_list()[leaf].node.is(Op::DEFINE_VAR) && !std::ranges::binary_search(had, leaf);
  });
}

// Adds the elements that `u` writes: a store, a group of stores, an empty NOOP, or a GEP or empty UNROLL of these.
// Returns false if `u` is something else, or if REF cannot evaluate it.
bool SideIsolator::add_effects(std::vector<SideEffect>& to, UOp u) {
  if (u.is(Op::GROUP)) return u.num_src() && std::ranges::all_of(u.src(), [&](UOp s) { return add_effects(to, s); });
  bool passes_on = u.is(Op::GEP) || (u.is(Op::UNROLL) && u.arg().items().empty());
  if (passes_on && u.dtype() == dtypes::void_) return add_effects(to, u.src(0));
  if (u.is(Op::NOOP) && u.num_src() == 0) return true;
  if (!u.is(Op::STORE)) return false;
  // skips a LOAD
  const IsolatedExpr place = expr_isolator_.expr_of(u.src(0).is(Op::LOAD) ? u.src(0).src(0) : u.src(0));
  const GatedValue stored = stored_value(u);
  if (!stored.value) return place.is_address();
  UOp value = expr_isolator_.load_value(stored.value);
  if (!place.is_address() || !value) return false;
  uint32_t leaves = expr_isolator_.union_set(place.leaf_set, expr_isolator_.expr_of(stored.value).leaf_set);
  UOp gate;
  auto add_gate = [&](UOp g) { gate = !gate ? g : gate == g ? gate : gate.alu(Op::AND, g); };
  if (const IsolatedExpr& v = expr_isolator_.expr_of(stored.value); !v.is_address() && v.valid) add_gate(v.valid);
  if (gate && gate.dtype().count() > 1) return false;
  for (auto [condition, must_hold] : stored.gates) {
    UOp holds = expr_isolator_.load_value(condition);
    if (!holds) return false;
    add_gate(must_hold ? holds : holds.logical_not());
    leaves = expr_isolator_.union_set(leaves, expr_isolator_.expr_of(condition).leaf_set);
  }
  // fail if value and memory have elements of different sizes, because the offsets then count different units
  if (value.dtype().scalar().itemsize() != place.memory.dtype().base().scalar().itemsize()) return false;
  int64_t places = place.value.dtype().count(), n = std::max<int64_t>(value.dtype().count(), places);
  if (n % places || (value.dtype().count() != n && value.dtype().count() != 1)) return false;
  auto element = [](UOp v, int64_t i) { return v && v.dtype().count() > 1 ? v.gep(i) : v; };
  for (int64_t i = 0, each = n / places; i < n; i++) {
    UOp valid = element(place.valid, i / each);
    if (gate) valid = valid ? valid.alu(Op::AND, gate) : gate;
    to.push_back({place.memory, element(place.value, i / each).cast(dtypes::index) + Const(i % each), valid,
                  element(value, i), leaves});
  }
  return true;
}

bool SideIsolator::add_effect(std::vector<ComparedValues>& to, const SideEffect& a, const SideEffect& b) {
  if (!(a.memory == b.memory) || !add_values(to, a.offset, a.valid, b.offset, b.valid) ||
      !add_values(to, a.value, a.valid, b.value, b.valid))
    return false;
  to.back().stored_memory = to[to.size() - 2].stored_memory = a.memory;
  return true;
}

bool SideIsolator::add_values(std::vector<ComparedValues>& to, UOp x, UOp x_valid, UOp y, UOp y_valid) {
  if (y.dtype().count() != x.dtype().count() || dtypes::is_float(y.dtype()) != dtypes::is_float(x.dtype()))
    return false;
  to.push_back({x, y, x_valid, y_valid});
  return true;
}

namespace {

// Chooses the two expressions that are compared for an application. For a substitution, they are its result and the
// requested replacement. tinygrad simplifies an expression under a condition by substituting placeholder variables for
// parts of it, and the parts for the placeholders afterwards. The sides of rewrites in between get the parts in place
// of placeholders.
class SidesBuilder {
 public:
  SidesBuilder(UOp ast, std::span<const Rewrite> list) : list_(list) {
    for (UOp u : toposort(ast))
      if (u.is(Op::DEFINE_VAR)) kernel_variables_.insert(u);
  }

  // Must be called for each application, in order.
  void advance(size_t i) {
    if (list_[i].substitution_target) track_placeholder(list_[i]);
  }
  RewriteSides sides(size_t i) const {
    const Rewrite& a = list_[i];
    // Compare a substitution's result with the requested replacement; the calling rule's comparison checks the request.
    UOp before = a.substitution_target ? a.substitution_target : a.before;
    return a.depth ? without_placeholders(before, a.after) : RewriteSides{before, a.after};
  }

 private:
  void track_placeholder(const Rewrite& a) {
    if (is_placeholder(a.before)) return (void)inserted_placeholders_.erase(a.before);
    for (UOp u : toposort(a.substitution_target)) {
      if (!is_placeholder(u)) continue;
      // A placeholder that is in the graph already, and is only a part of the target, keeps its meaning.
      if (u == a.substitution_target || !inserted_placeholders_.contains(u))
        placeholder_meanings_[u] = a.before, inserted_placeholders_.insert(u);
      return;
    }
  }
  bool is_placeholder(UOp u) const { return u.is(Op::DEFINE_VAR) && !kernel_variables_.contains(u); }
  // Returns empty sides if the substitution fails.
  RewriteSides without_placeholders(UOp before, UOp after) const {
    if (before == after || (!has_placeholder(before) && !has_placeholder(after))) return {before, after};
    auto out = catch_failures([&] {
      const Substitution all = clamped_meanings();
      return RewriteSides{substitute(before, all), substitute(after, all)};
    });
    return out ? *out : RewriteSides();
  }
  bool has_placeholder(UOp root) const {
    auto is_new = [&](UOp u) { return !has_placeholder_.contains(u); };
    if (is_new(root))
      for (UOp u : toposort(root, is_new)) {
        auto has = [&](UOp s) { return has_placeholder_.at(s); };
        has_placeholder_[u] = is_placeholder(u) || std::ranges::any_of(u.src(), has);
      }
    return has_placeholder_.at(root);
  }
  // Limits each placeholder's meaning to the placeholder's bounds, on which rules rely.
  Substitution clamped_meanings() const {
    Substitution all;
    for (auto& [variable, meaning] : placeholder_meanings_) {
      UOp least = meaning.const_like(variable.vmin()), most = meaning.const_like(variable.vmax());
      UOp value = py_less(meaning.vmin(), variable.vmin()) ? meaning.lt(least).where(least, meaning) : meaning;
      if (py_less(variable.vmax(), meaning.vmax())) value = most.lt(value).where(most, value);
      all.emplace_back(variable, value);
    }
    return all;
  }

  std::span<const Rewrite> list_;
  std::unordered_set<UOp> kernel_variables_;  // the kernel's variables, which are not placeholders
  std::unordered_set<UOp> inserted_placeholders_;
  std::unordered_map<UOp, UOp> placeholder_meanings_;  // by placeholder: the expression that it replaced
  mutable std::unordered_map<UOp, bool> has_placeholder_;
};

// Returns true for a rewrite of the stage that adds loops to tensors. Its result may depend on loops that the graph
// does not have yet.
bool adds_loops(const Rewrite& a) { return a.depth == 0 && a.graph_rewrite_name == "apply rangeify"; }

// Returns TensorElementExpr::are_equal_except_places() of the sides; nullopt if `before` has no expression, and false
// if only `after` has none.
std::optional<bool> are_equal_except_places(TensorElementExpr& elements, const RewriteSides& s) {
  if (auto same = catch_failures([&] { return elements.are_equal_except_places(s.before, s.after); })) return *same;
  auto has_meaning = catch_failures([&] { return elements.are_equal_except_places(s.before, s.before); });
  return has_meaning ? std::optional(false) : std::nullopt;
}

// Enough to find a few bad pairs among thousands.
constexpr int kMostHalvings = 40;

// `halvings` is the number of times that batches may still be halved.
Result<std::vector<EquivalenceResult>> compare_in_halves(std::span<const RewriteSides> sides, const Arrays& arrays,
                                                         const VariableValues& variables, uint64_t seed,
                                                         int& halvings) {
  auto all = compare_sides(sides, arrays, variables, seed);
  if (all || halvings-- <= 0) return all;
  if (sides.size() == 1) return std::vector<EquivalenceResult>(1);
  auto first = compare_in_halves(sides.first(sides.size() / 2), arrays, variables, seed, halvings);
  auto rest = compare_in_halves(sides.subspan(sides.size() / 2), arrays, variables, seed, halvings);
  if (!first || !rest) return all;
  first->insert(first->end(), rest->begin(), rest->end());
  return first;
}

}  // namespace

Result<std::vector<EquivalenceResult>> compare_in_batches(std::span<const RewriteSides> sides, const Arrays& arrays,
                                                          const VariableValues& variables, uint64_t seed) {
  int halvings = kMostHalvings;
  return compare_in_halves(sides, arrays, variables, seed, halvings);
}

std::vector<RewriteSides> sides_of_recorded_rewrites(UOp ast, std::span<const Rewrite> list) {
  SidesBuilder builder(ast, list);
  std::vector<RewriteSides> out;
  for (size_t i = 0; i < list.size(); i++) builder.advance(i), out.push_back(builder.sides(i));
  return out;
}

std::vector<RewriteSides> sides_of_applications(Compilation& c, std::span<const Rewrite> list,
                                                std::vector<size_t>& wrong,
                                                const std::function<bool(const Rewrite&)>& wanted) {
  SidesBuilder builder(c.ast(), list);
  TensorElementExpr elements(c.graph());
  std::vector<RewriteSides> sides;
  for (size_t i = 0; i < list.size(); i++) {
    builder.advance(i);
    if (wanted && !wanted(list[i])) continue;
    RewriteSides s = builder.sides(i);
    if (c.is_tensor_graph() && s.before && s.after) {
      if (!adds_loops(list[i])) s = elements.make_element_sides(s.before, s.after);
      else if (auto same = are_equal_except_places(elements, s); !same) s = {};
      else if (!*same) wrong.push_back(sides.size());
      else s.after = s.before;
    }
    sides.push_back(s);
  }
  return sides;
}

Result<std::vector<EquivalenceResult>> evaluate_sides(Compilation& c, std::span<const Rewrite> list,
                                                      const Arrays& arrays, const VariableValues& variables,
                                                      const std::function<bool(const Rewrite&)>& wanted,
                                                      uint64_t seed) {
  UninstrumentedScope uninstrumented(c.graph());
  std::vector<size_t> wrong;
  const std::vector<RewriteSides> sides = sides_of_applications(c, list, wrong, wanted);
  auto results = compare_in_batches(sides, arrays, variables, seed);
  for (size_t i = 0; results && i < wrong.size(); i++)
    (*results)[wrong[i]] = {.kind = EquivalenceResult::Kind::Differ, .is_beyond_rounding = true,
                            .num_differing_points = ExprIsolator::kPointsPerRun};
  return results;
}

}  // namespace tgc
