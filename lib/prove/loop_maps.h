// Decides whether new loops run the same iterations as the loops that they replaced.
#pragma once
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "lib/uop/uop.h"

namespace tgc {

// A replacement of loops: pairs of a RANGE and the expression of other loops that replaces it.
using RangeMap = std::vector<std::pair<UOp, UOp>>;

// Returns true if the new loops are proven to run the same iterations: the map from their indices to those of the
// replaced ranges is one to one and onto.
bool has_same_iterations(const RangeMap& map);

// Returns true if different values of the loops in `index` give different indices, all of them in 0..size-1; false if
// they do not, or if this is not known.
bool is_injective_index(UOp index, int64_t size);

// An iteration of the replaced loops, as values of some of their RANGEs, that the new loops never run or run more than
// once, whatever the values of the others.
struct WrongIteration {
  std::vector<std::pair<UOp, int64_t>> loop_values;
  bool is_lost = false;
};
// Returns an iteration that is lost or, if none is found, one that runs more than once; nullopt if neither is found.
std::optional<WrongIteration> find_wrong_iteration(const RangeMap& map);

// Returns the value of an integer expression of constants, such as 2 * 4 + 1; nullopt if it is not known.
std::optional<int64_t> constant_integer(UOp u);

// Returns the size of a RANGE or SPECIAL; -1 if it is not known to be a constant. A constant size may be negative.
int64_t constant_size(UOp loop);

}  // namespace tgc
