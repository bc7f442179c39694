#include "lib/bisect/rewrite_sides.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "lib/rewrite/rewrite.h"
#include "lib/validate/isolated_expr.h"
#include "lib/validate/tensor_element.h"

namespace tgc {
namespace {

// Chooses the two expressions by which an application is compared. The result of a substitution must be the requested
// replacement. While an expression is simplified under a condition, placeholder variables stand for parts of it: one
// substitution inserts a placeholder, the inverse one removes it. Nested rewrites in between are compared with each
// placeholder replaced by what it stands for.
class SidesBuilder {
 public:
  SidesBuilder(UOp ast, std::span<const Application> list) : list_(list) {
    for (UOp u : toposort(ast))
      if (u.is(Op::DEFINE_VAR)) own_variables_.insert(u);
  }

  // Call once for each application, in order.
  void advance(size_t i) {
    if (list_[i].substitution_target) track_placeholder(list_[i]);
  }
  // Sides of the application that was passed to advance() last.
  Sides sides(size_t i) const {
    const Application& a = list_[i];
    // Whether the substitution itself is right is seen by the sides of the rule that requested it.
    UOp before = a.substitution_target ? a.substitution_target : a.before;
    return a.depth ? without_placeholders(before, a.after) : Sides{before, a.after};
  }

 private:
  void track_placeholder(const Application& a) {
    if (is_placeholder(a.before)) return (void)inserted_.erase(a.before);
    for (UOp u : toposort(a.substitution_target)) {
      if (!is_placeholder(u)) continue;
      // A placeholder inside a larger replacement already stands for something else.
      if (u == a.substitution_target || !inserted_.contains(u)) meanings_[u] = a.before, inserted_.insert(u);
      return;
    }
  }
  bool is_placeholder(UOp u) const { return u.is(Op::DEFINE_VAR) && !own_variables_.contains(u); }
  // Returns empty sides if the replaced shapes do not fit.
  Sides without_placeholders(UOp before, UOp after) const {
    if (before == after || meanings_.empty()) return {before, after};
    auto out = catch_failures([&] {
      const Substitution all = clamped_meanings();
      return Sides{substitute(before, all), substitute(after, all)};
    });
    return out ? *out : Sides();
  }
  // A placeholder has bounds, which the rules rely on: its meaning is clamped to them.
  Substitution clamped_meanings() const {
    Substitution all;
    for (auto& [variable, meaning] : meanings_) {
      UOp least = meaning.const_like(variable.vmin()), most = meaning.const_like(variable.vmax());
      UOp value = py_less(meaning.vmin(), variable.vmin()) ? meaning.lt(least).where(least, meaning) : meaning;
      if (py_less(variable.vmax(), meaning.vmax())) value = most.lt(value).where(most, value);
      all.emplace_back(variable, value);
    }
    return all;
  }

  std::span<const Application> list_;
  std::unordered_set<UOp> own_variables_;  // of the kernel
  std::unordered_set<UOp> inserted_;       // placeholders that were not removed yet
  std::unordered_map<UOp, UOp> meanings_;  // what each placeholder stands for
};

// Whether the rewrite gives tensors their loops: then a node depends on loops that the graph does not have yet.
bool adds_loops(const Application& a) { return a.depth == 0 && a.within == "apply rangeify"; }

// TensorElementExpr::same_but_places; nullopt if `before` has no element expression, false if only `after` has none.
std::optional<bool> same_but_places(TensorElementExpr& elements, const Sides& s) {
  if (auto same = catch_failures([&] { return elements.same_but_places(s.before, s.after); })) return *same;
  auto has_meaning = catch_failures([&] { return elements.same_but_places(s.before, s.before); });
  return has_meaning ? std::optional(false) : std::nullopt;
}

// How often a batch of sides that REF cannot run is halved: enough to isolate a few among thousands.
constexpr int kMostHalvings = 40;

// Runs compare_sides; a batch that REF cannot run is halved, so that one application does not hide the others.
// `halvings`: how many more are allowed.
Result<std::vector<EquivalenceResult>> compare_in_batches(std::span<const Sides> sides, const Arrays& arrays,
                                                          const VariableValues& variables, uint64_t seed,
                                                          int& halvings) {
  auto all = compare_sides(sides, arrays, variables, seed);
  if (all || halvings-- <= 0) return all;
  if (sides.size() == 1) return std::vector<EquivalenceResult>(1);
  auto first = compare_in_batches(sides.first(sides.size() / 2), arrays, variables, seed, halvings);
  auto rest = compare_in_batches(sides.subspan(sides.size() / 2), arrays, variables, seed, halvings);
  if (!first || !rest) return all;
  first->insert(first->end(), rest->begin(), rest->end());
  return first;
}

}  // namespace

Result<std::vector<EquivalenceResult>> evaluate_sides(Compilation& c, std::span<const Application> list,
                                                      const Arrays& arrays, const VariableValues& variables,
                                                      const std::function<bool(const Application&)>& wanted,
                                                      uint64_t seed) {
  UninstrumentedScope uninstrumented(c.graph());
  SidesBuilder builder(c.ast(), list);
  TensorElementExpr elements(c.graph());
  std::vector<Sides> sides;
  std::vector<size_t> wrong;  // indices of sides that differ without an evaluation
  for (size_t i = 0; i < list.size(); i++) {
    builder.advance(i);
    if (wanted && !wanted(list[i])) continue;
    Sides s = builder.sides(i);
    if (c.is_tensor_graph() && s.before && s.after) {
      if (!adds_loops(list[i])) s = elements.sides(s.before, s.after);
      else if (auto same = same_but_places(elements, s); !same) s = {};
      else if (!*same) wrong.push_back(sides.size());
      else s.after = s.before;
    }
    sides.push_back(s);
  }
  int halvings = kMostHalvings;
  auto results = compare_in_batches(sides, arrays, variables, seed, halvings);
  for (size_t i = 0; results && i < wrong.size(); i++)
    (*results)[wrong[i]] = {.kind = EquivalenceResult::Kind::Differ, .beyond_rounding = true,
                            .points = ExprIsolator::kPoints};
  return results;
}

}  // namespace tgc
