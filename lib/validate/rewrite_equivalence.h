// Tests whether the two sides of a rewrite compute the same, by evaluating both in REF at sample points, with the
// arrays of a run. Ranges, variables and other leaves (isolated_expr.h) get numbers within their bounds, including the
// bounds themselves. Equal results are no proof that the sides are equal, but the sides of most wrong rewrites differ
// at nearly every point.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/execute/executable.h"
#include "lib/runtime/array.h"

namespace tgc {

struct Sides {
  UOp before, after;  // if one is null, the result is Open
};

struct EquivalenceResult {
  enum class Kind : uint8_t {
    Same,    // equal at every point
    Differ,
    Unlike,  // the dtypes or numbers of elements differ: nothing was evaluated
    Open,    // unknown: a side has no value, or depends on leaves that the other side does not have
  };
  Kind kind = Kind::Open;
  bool beyond_rounding = false;  // the sides differ by more than rounding can explain
  int points = 0;                // number of sample points, of ExprIsolator::kPoints, where the sides differ
  bool exactly = true;           // for Same: the sides are equal bit by bit, not only within rounding
  std::map<std::string, std::string> point;  // ranges and variables by name, at a point where the sides differ
  std::string before, after;                 // the values of the sides at this point

  // Returns whether the sides differ by more than rounding, and at least at one in `n` of the sample points.
  bool differs_at_one_in(int n) const;
};

// Compares the sides of each pair, nodes of one graph, which receives new nodes. `arrays` are the run's by name
// (data0), `variables` its variables; `seed` selects the points between the edges. An error: REF cannot run the
// combined graph.
Result<std::vector<EquivalenceResult>> compare_sides(std::span<const Sides> pairs, const Arrays& arrays,
                                                     const VariableValues& variables, uint64_t seed = 1);

}  // namespace tgc
