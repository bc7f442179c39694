#include "lib/validate/application_sides.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "lib/rewrite/rewrite.h"
#include "lib/validate/isolated_expr.h"
#include "lib/validate/tensor_element.h"

namespace tgc {
namespace {

// Chooses the two expressions that are compared for an application. A substitution's result is compared with the
// requested replacement. To simplify an expression under a condition, one substitution inserts placeholder variables
// for parts of the expression, and another one removes them. In between, nested rewrites have placeholders in their
// sides; each placeholder is replaced by its part.
class SidesBuilder {
 public:
  SidesBuilder(UOp ast, std::span<const Application> list) : list_(list) {
    for (UOp u : toposort(ast))
      if (u.is(Op::DEFINE_VAR)) own_variables_.insert(u);
  }

  // Call advance() for each application in order, because it tracks which placeholders are in the graph.
  void advance(size_t i) {
    if (list_[i].substitution_target) track_placeholder(list_[i]);
  }
  // Returns the two sides of application `i`, for which the last call of advance() was made.
  Sides sides(size_t i) const {
    const Application& a = list_[i];
    // Compare a substitution's result with the requested replacement; the calling rule's comparison checks the request.
    UOp before = a.substitution_target ? a.substitution_target : a.before;
    return a.depth ? without_placeholders(before, a.after) : Sides{before, a.after};
  }

 private:
  void track_placeholder(const Application& a) {
    if (is_placeholder(a.before)) return (void)inserted_.erase(a.before);
    for (UOp u : toposort(a.substitution_target)) {
      if (!is_placeholder(u)) continue;
      // If the target only contains a placeholder that is in the graph already, this placeholder keeps its meaning.
      if (u == a.substitution_target || !inserted_.contains(u)) meanings_[u] = a.before, inserted_.insert(u);
      return;
    }
  }
  bool is_placeholder(UOp u) const { return u.is(Op::DEFINE_VAR) && !own_variables_.contains(u); }
  // Replaces placeholders by their meanings in both sides. Returns empty sides if this makes dtypes or shapes differ.
  Sides without_placeholders(UOp before, UOp after) const {
    if (before == after || (!has_placeholder(before) && !has_placeholder(after))) return {before, after};
    auto out = catch_failures([&] {
      const Substitution all = clamped_meanings();
      return Sides{substitute(before, all), substitute(after, all)};
    });
    return out ? *out : Sides();
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
  // Limits each placeholder's meaning to the placeholder's bounds, because rules rely on these bounds.
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
  std::unordered_set<UOp> own_variables_;  // the kernel's variables, which are not placeholders
  std::unordered_set<UOp> inserted_;       // placeholders that are still in the graph
  std::unordered_map<UOp, UOp> meanings_;  // by placeholder: the expression that it stands for
  mutable std::unordered_map<UOp, bool> has_placeholder_;  // whether there is one in the graph under a node
};

// Returns whether the rewrite gives tensors their loops: then its result may depend on loops not in the graph yet.
bool adds_loops(const Application& a) { return a.depth == 0 && a.within == "apply rangeify"; }

// Calls TensorElementExpr::same_but_places; nullopt if `before` has no expression, false if only `after` has none.
std::optional<bool> same_but_places(TensorElementExpr& elements, const Sides& s) {
  if (auto same = catch_failures([&] { return elements.same_but_places(s.before, s.after); })) return *same;
  auto has_meaning = catch_failures([&] { return elements.same_but_places(s.before, s.before); });
  return has_meaning ? std::optional(false) : std::nullopt;
}

// How often batches that REF cannot run may be halved: enough to isolate a few bad pairs of sides among thousands.
constexpr int kMostHalvings = 40;

// Runs compare_sides(). If REF cannot run a batch of pairs, halves the batch, so that one bad pair does not prevent the
// comparison of all other pairs. `halvings` is the number of times that batches may still be halved.
Result<std::vector<EquivalenceResult>> compare_in_halves(std::span<const Sides> sides, const Arrays& arrays,
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

Result<std::vector<EquivalenceResult>> compare_in_batches(std::span<const Sides> sides, const Arrays& arrays,
                                                          const VariableValues& variables, uint64_t seed) {
  int halvings = kMostHalvings;
  return compare_in_halves(sides, arrays, variables, seed, halvings);
}

std::vector<Sides> sides_of_list(UOp ast, std::span<const Application> list) {
  SidesBuilder builder(ast, list);
  std::vector<Sides> out;
  for (size_t i = 0; i < list.size(); i++) builder.advance(i), out.push_back(builder.sides(i));
  return out;
}

std::vector<Sides> sides_of_applications(Compilation& c, std::span<const Application> list, std::vector<size_t>& wrong,
                                         const std::function<bool(const Application&)>& wanted) {
  SidesBuilder builder(c.ast(), list);
  TensorElementExpr elements(c.graph());
  std::vector<Sides> sides;
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
  return sides;
}

Result<std::vector<EquivalenceResult>> evaluate_sides(Compilation& c, std::span<const Application> list,
                                                      const Arrays& arrays, const VariableValues& variables,
                                                      const std::function<bool(const Application&)>& wanted,
                                                      uint64_t seed) {
  UninstrumentedScope uninstrumented(c.graph());
  std::vector<size_t> wrong;
  const std::vector<Sides> sides = sides_of_applications(c, list, wrong, wanted);
  auto results = compare_in_batches(sides, arrays, variables, seed);
  for (size_t i = 0; results && i < wrong.size(); i++)
    (*results)[wrong[i]] = {.kind = EquivalenceResult::Kind::Differ, .beyond_rounding = true,
                            .points = ExprIsolator::kPoints};
  return results;
}

}  // namespace tgc
