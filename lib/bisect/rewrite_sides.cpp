#include "lib/bisect/rewrite_sides.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "lib/rewrite/rewrite.h"
#include "lib/rules/rule_sources.h"
#include "lib/support/lines.h"
#include "lib/trace/trace.h"
#include "lib/uop/render.h"
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
    if (before == after || meanings_.empty()) return {before, after};
    auto out = catch_failures([&] {
      const Substitution all = clamped_meanings();
      return Sides{substitute(before, all), substitute(after, all)};
    });
    return out ? *out : Sides();
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

// Returns the first constant, among the node and its sources, that its dtype cannot represent; else "".
std::string unrepresentable_constant(UOp u) {
  std::vector<UOp> nodes{u};
  nodes.insert(nodes.end(), u.src().begin(), u.src().end());
  for (UOp c : nodes) {
    if (!c.in({Op::CONST, Op::VCONST}) || c.is_invalid() || c.dtype().is(Scalar::Index)) continue;
    std::vector<Arg> numbers{c.arg()};
    if (c.is(Op::VCONST)) numbers.assign(c.arg().items().begin(), c.arg().items().end());
    for (Arg n : numbers) {
      const Const number = n.to_const();
      if (number.is_invalid()) continue;
      const double v = number.to_double();
      bool is_whole = std::isfinite(v) && v == std::nearbyint(v);
      if (is_whole && truncate(number, c.dtype().scalar()).to_double() != v)
        return number.str() + " of " + std::string(c.dtype().scalar().repr());
    }
  }
  return "";
}

}  // namespace

Result<std::vector<EquivalenceResult>> compare_in_batches(std::span<const Sides> sides, const Arrays& arrays,
                                                          const VariableValues& variables, uint64_t seed) {
  int halvings = kMostHalvings;
  return compare_in_halves(sides, arrays, variables, seed, halvings);
}

Result<std::vector<EquivalenceResult>> evaluate_sides(Compilation& c, std::span<const Application> list,
                                                      const Arrays& arrays, const VariableValues& variables,
                                                      const std::function<bool(const Application&)>& wanted,
                                                      uint64_t seed) {
  UninstrumentedScope uninstrumented(c.graph());
  SidesBuilder builder(c.ast(), list);
  TensorElementExpr elements(c.graph());
  std::vector<Sides> sides;
  std::vector<size_t> wrong;  // indices of pairs that differ for certain, without a run of REF
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
  auto results = compare_in_batches(sides, arrays, variables, seed);
  for (size_t i = 0; results && i < wrong.size(); i++)
    (*results)[wrong[i]] = {.kind = EquivalenceResult::Kind::Differ, .beyond_rounding = true,
                            .points = ExprIsolator::kPoints};
  return results;
}

// ---- texts

std::string side_text(UOp u) {
  constexpr size_t kMostInLine = 400;  // characters
  const bool is_algebra = u.dtype().is(Scalar::Index) || dtypes::is_int(u.dtype()) || dtypes::is_bool(u.dtype());
  if (is_algebra && is_tree_within(u, kMostInLine))
    if (std::string text = render(u, false); text.size() < kMostInLine && text.find("Ops.") == text.npos) return text;
  return tree_text(u, 3);
}

std::string tree_text(UOp u, int depth) {
  constexpr size_t kMostLines = 16;
  const std::string tree = describe(u, depth);
  std::vector<std::string_view> lines = lines_of(tree);
  size_t indent = lines.empty() ? 0 : std::min(lines[0].find_first_not_of(' '), lines[0].size());
  std::string out;
  size_t shown = 0;
  for (size_t i = 0, next; i < lines.size(); i = next) {
    for (next = i + 1; next < lines.size() && lines[next] == lines[i];) next++;
    if (shown++ == kMostLines) return out + "\n... " + std::to_string(lines.size() - i) + " lines more";
    out += (out.empty() ? "" : "\n") + std::string(lines[i].substr(std::min(indent, lines[i].size())));
    if (next - i > 1) out += "  (" + std::to_string(next - i) + " times)";
  }
  return out;
}

void name_rewrite(const Application& a, Verdict& verdict) {
  // If the result of a substitution is wrong, the side `before` shows the requested replacement.
  const bool is_wrong_target = a.substitution_target && !(a.substitution_target == a.after);
  verdict.stage = a.stage ? a.stage->name : "";
  verdict.rule = a.rule->name;
  verdict.branch = a.branch ? a.branch : "";
  verdict.location = location_of(*a.rule);
  verdict.tinygrad_location = tinygrad_source(*a.rule);
  verdict.rewrite = a.in_stage;
  verdict.before = side_text(is_wrong_target ? a.substitution_target : a.before);
  verdict.after = side_text(a.after);
  verdict.node = describe(a.before);
}

std::string rewrite_text(const Application& a) {
  return "number " + std::to_string(a.in_stage) + " of " + std::string(a.rule->name) + " in '" +
         std::string(a.stage->name) + "', " + location_of(*a.rule);
}

std::string unrepresentable_constant(const Application& a) {
  std::string out = unrepresentable_constant(a.before);
  return out.empty() && a.after ? unrepresentable_constant(a.after) : out;
}

std::string shape_difference(const Application& a) {
  const UOp before = a.substitution_target && !(a.substitution_target == a.after) ? a.substitution_target : a.before;
  if (before.dtype() == a.after.dtype())
    return "a part of the result has another number of elements than before";
  return "the result has dtype " + std::string(a.after.dtype().repr()) + ", before " +
         std::string(before.dtype().repr());
}

}  // namespace tgc
