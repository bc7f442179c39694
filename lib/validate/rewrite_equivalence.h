// compare_sides tests in REF whether the two sides of a rewrite compute the same at sample points. Equal results do not
// prove that the sides are equal, but the sides of most wrong rewrites differ at nearly every point.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "lib/execute/executable.h"
#include "lib/runtime/array.h"

namespace tgc {

struct RewriteSides {
  UOp before, after;     // if one is null, the result is Open
  double tolerance = 0;  // largest relative difference of floats that rounding explains; 0: a default for the dtype
};

struct EquivalenceResult {
  enum class Kind : uint8_t {
    Same,    // equal at every point, up to rounding
    Differ,  // different at some point
    Unlike,  // the dtypes or numbers of elements differ, so nothing was evaluated
    Open,    // unknown: for example, a side has no value
  };
  Kind kind = Kind::Open;
  bool is_beyond_rounding = false;
  // number of the ExprIsolator::kPointsPerRun sample points (for compare_tensor_sides(): of elements) that differ
  int num_differing_points = 0;
  bool is_exact = true;          // if `kind` is Same: the sides are equal to the last bit, not only up to rounding
  std::map<std::string, std::string> witness;  // a point where the sides differ: the values of the leaves, by name
  std::string before, after;                 // the values of the sides at this point

  // Returns true if the sides differ by more than rounding, and at 1/n of the sample points or more.
  bool differs_at_one_point_in(int n) const;
};

// Compares the two sides of each pair. All sides are nodes of one graph, to which new nodes are added. `arrays` (by
// name, data0) and `variables` are those of a run of the kernel; missing ones are drawn. `seed` selects the sample
// points. Fails if REF cannot run the graph.
Result<std::vector<EquivalenceResult>> compare_sides(std::span<const RewriteSides> pairs, const Arrays& arrays,
                                                     const VariableValues& variables, uint64_t seed = 1);

// Returns the name of a leaf in reports: "r0" for a loop; the name of a launch index or variable; else op and node id.
std::string name_of_leaf(UOp u);

}  // namespace tgc
