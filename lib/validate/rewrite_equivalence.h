// Whether the two sides of a rewrite compute the same: both are evaluated in REF at a few points, with the arrays of a
// run. Ranges, variables and what cannot be computed alone (lib/validate/isolated_expr.h) get numbers within their bounds, the
// edges among them. This proves nothing, but a rewrite that makes something else of its node is seen at nearly every
// point.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/execute/executable.h"
#include "lib/runtime/array.h"

namespace tgc {

struct Sides {
  UOp before, after;  // null: there is no telling
};

struct EquivalenceResult {
  enum class Kind : uint8_t {
    Same,    // at every point
    Differ,
    Unlike,  // values of two dtypes, or of two numbers of elements: nothing was evaluated
    Open,    // there is no telling: a side has no value, or hangs on what the other does not have
  };
  Kind kind = Kind::Open;
  // of sides that differ: whether by more than rounding could ever explain
  bool beyond_rounding = false;
  int points = 0;  // at how many of Closing::kPoints they differ
  bool exactly = true;  // of sides that are the same: no two numbers are apart, not even by what rounding explains
  std::map<std::string, std::string> point;  // of ranges and variables, by name, where they differ
  std::string before, after;                 // what they are there

  // Whether they differ plainly, and at one point in `n` at least: hardly by chance.
  bool differs_at_one_in(int n) const;
};

// What `pairs`, nodes of one graph, compute. `arrays` are the run's by name (data0), `variables` its variables; of
// another `seed` the points between the edges are others. Nodes are added to the graph. An error: REF cannot run what
// was made of them.
Result<std::vector<EquivalenceResult>> compare_sides(std::span<const Sides> pairs, const Arrays& arrays,
                                        const VariableValues& variables, uint64_t seed = 1);

}  // namespace tgc
