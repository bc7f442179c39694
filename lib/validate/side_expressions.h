// SideIsolator makes the expressions whose equality decides whether the two sides of a rewrite compute the same.
#pragma once
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "lib/compilation/compilation.h"
#include "lib/compilation/rewrite_log.h"
#include "lib/validate/isolated_expr.h"
#include "lib/validate/rewrite_equivalence.h"

namespace tgc {

// Two isolated expressions to compare, one of each side, with the same number of elements. A store has two such pairs
// for each element: the address and the value.
struct ComparedValues {
  UOp before, after;
  UOp before_valid = {}, after_valid = {};  // bools: false if the value is Invalid or not stored; null: always true
  // compare only the smallest and the largest value, because the size of a loop changed
  bool is_bounds_comparison = false;
  UOp stored_memory = {};
};

struct SideExpressions {
  // Values, Stores: `compared_values` decide. Same, Unlike, Open: as in EquivalenceResult::Kind
  enum class Kind : uint8_t { Same, Unlike, Values, Stores, Open };
  Kind kind = Kind::Open;
  std::vector<ComparedValues> compared_values = {};
};

class SideIsolator {
 public:
  // `sizes` maps the number of each DEFINE_GLOBAL to its number of elements. New nodes are added to `graph`.
  SideIsolator(Graph& graph, std::map<int64_t, int64_t> sizes) : expr_isolator_(graph, std::move(sizes)) {}
  SideExpressions expressions_of(const RewriteSides& sides);
  ExprIsolator& isolator() { return expr_isolator_; }
  const ExprIsolator& isolator() const { return expr_isolator_; }
  uint32_t leaf_set_of(UOp u);

 private:
  struct SideEffect;
  std::vector<ComparedValues> compared_values_of(std::vector<SideEffect>& before, std::vector<SideEffect>& after);
  std::vector<ComparedValues> compared_values_of(const RewriteSides& s);
  bool is_leaf_subset(uint32_t after, uint32_t before) const;
  bool has_added_variable(uint32_t after, uint32_t before) const;
  bool add_effects(std::vector<SideEffect>& to, UOp u);
  bool add_effect(std::vector<ComparedValues>& to, const SideEffect& a, const SideEffect& b);
  static bool add_values(std::vector<ComparedValues>& to, UOp x, UOp x_valid, UOp y, UOp y_valid);

  ExprIsolator expr_isolator_;
};

// Returns the sides to compare for each application in `list`, which the compilation `c` made, and for which `wanted`
// (if set) returns true. Adds to `wrong` the indices of results whose sides differ for certain. Must be called in an
// UninstrumentedScope.
std::vector<RewriteSides> sides_of_applications(Compilation& c, std::span<const Rewrite> list,
                                                std::vector<size_t>& wrong,
                                                const std::function<bool(const Rewrite&)>& wanted = {});

// Returns the sides of each application in `list`, the applications to the kernel `ast`, of any tinygrad release.
std::vector<RewriteSides> sides_of_recorded_rewrites(UOp ast, std::span<const Rewrite> list);

// Compares both sides of each application in `list`, which the compilation `c` made, and for which `wanted` (if set)
// returns true. `arrays`, `variables` and `seed`: see compare_sides().
Result<std::vector<EquivalenceResult>> evaluate_sides(Compilation& c, std::span<const Rewrite> list,
                                                      const Arrays& arrays, const VariableValues& variables,
                                                      const std::function<bool(const Rewrite&)>& wanted = {},
                                                      uint64_t seed = 1);

// Calls compare_sides() for all pairs at once. If REF cannot run them together, halves the batch, up to a limit.
Result<std::vector<EquivalenceResult>> compare_in_batches(std::span<const RewriteSides> sides, const Arrays& arrays,
                                                          const VariableValues& variables, uint64_t seed = 1);

}  // namespace tgc
