#include "lib/bisect/evaluate_rewrites.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "lib/rewrite/rewrite.h"
#include "lib/validate/isolated_expr.h"
#include "lib/validate/tensor_element.h"

namespace tgc {
namespace {

// What an application is compared as. A substitution is to make what it was told to, to the letter. While an expression
// is simplified under a condition, variables that the kernel does not have stand for parts of it: a substitution puts
// them in, its inverse takes them out again. What such a variable stands for is what it was put in for.
class Meanings {
 public:
  Meanings(UOp ast, std::span<const Application> list) : list_(list) {
    for (UOp u : toposort(ast))
      if (u.is(Op::DEFINE_VAR)) own_.insert(u);
  }

  // The applications are passed in their order, each once.
  void pass(size_t i) {
    if (list_[i].substitution_target) note(list_[i]);
  }
  // Of the one that was passed last.
  Sides sides(size_t i) const {
    const Application& a = list_[i];
    UOp before = a.substitution_target ? a.substitution_target : a.before;  // whether that is the right one: the sides of who told tell
    return a.depth ? within(before, a.after) : Sides{before, a.after};
  }

 private:
  void note(const Application& a) {
    if (stands_for_another(a.before)) {
      put_in_.erase(a.before);
      return;
    }
    for (UOp u : toposort(a.substitution_target)) {
      if (!stands_for_another(u)) continue;
      if (u == a.substitution_target || !put_in_.contains(u)) meanings_[u] = a.before, put_in_.insert(u);  // else it is another's
      return;
    }
  }
  bool stands_for_another(UOp u) const { return u.is(Op::DEFINE_VAR) && !own_.contains(u); }
  // What is rewritten in between: of what variables stand for, what lies within their bounds. Where its shapes do not
  // fit there is no telling.
  Sides within(UOp before, UOp after) const {
    if (before == after || meanings_.empty()) return {before, after};
    auto out = catch_failures([&] {
      const Substitution all = values();
      return Sides{substitute(before, all), substitute(after, all)};
    });
    return out ? *out : Sides();
  }
  Substitution values() const {
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
  std::unordered_set<UOp> own_;
  std::unordered_set<UOp> put_in_;  // variables that have not been taken out since
  std::unordered_map<UOp, UOp> meanings_;
};

// While tensors get their loops, what a node computes hangs on loops that stand nowhere in the graph as yet.
bool gets_loops(const Application& a) {
  return a.depth == 0 && a.within == "apply rangeify";
}

// Elements::same_but_places, where that can be told. What no longer makes sense, though it did before, is not the same.
std::optional<bool> same_but_places(TensorElementExpr& elements, const Sides& s) {
  if (auto same = catch_failures([&] { return elements.same_but_places(s.before, s.after); })) return *same;
  auto made_sense = catch_failures([&] { return elements.same_but_places(s.before, s.before); });
  return made_sense ? std::optional(false) : std::nullopt;
}

// How often sides that REF cannot run are halved: enough to single out a few of some thousands.
constexpr int kMostHalvings = 40;

// compare_sides, by halves where REF cannot run what was made of them: one that it cannot run says nothing of others.
// `failures`: how many more may be.
Result<std::vector<EquivalenceResult>> compared(std::span<const Sides> sides, const Arrays& arrays, const VariableValues& variables,
                                   uint64_t seed, int& failures) {
  auto all = compare_sides(sides, arrays, variables, seed);
  if (all || failures-- <= 0) return all;
  if (sides.size() == 1) return std::vector<EquivalenceResult>(1);
  auto first = compared(sides.first(sides.size() / 2), arrays, variables, seed, failures);
  auto rest = compared(sides.subspan(sides.size() / 2), arrays, variables, seed, failures);
  if (!first || !rest) return all;
  first->insert(first->end(), rest->begin(), rest->end());
  return first;
}

}  // namespace

Result<std::vector<EquivalenceResult>> look_at(Compilation& c, std::span<const Application> list, const Arrays& arrays,
                                  const VariableValues& variables,
                                  const std::function<bool(const Application&)>& wanted, uint64_t seed) {
  UninstrumentedScope own(c.graph());
  Meanings meanings(c.ast(), list);
  TensorElementExpr elements(c.graph());
  std::vector<Sides> sides;
  std::vector<size_t> wrong;  // of the sides
  for (size_t i = 0; i < list.size(); i++) {
    meanings.pass(i);
    if (wanted && !wanted(list[i])) continue;
    Sides s = meanings.sides(i);
    if (c.is_tensor_graph() && s.before && s.after) {
      if (!gets_loops(list[i])) s = elements.sides(s.before, s.after);
      else if (auto same = same_but_places(elements, s); !same) s = {};
      else if (!*same) wrong.push_back(sides.size());
      else s.after = s.before;
    }
    sides.push_back(s);
  }
  int failures = kMostHalvings;
  auto seen = compared(sides, arrays, variables, seed, failures);
  for (size_t i = 0; seen && i < wrong.size(); i++)
    (*seen)[wrong[i]] = {.kind = EquivalenceResult::Kind::Differ, .beyond_rounding = true, .points = ExprIsolator::kPoints};
  return seen;
}

}  // namespace tgc
