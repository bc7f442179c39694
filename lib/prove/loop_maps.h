// Decides whether new loops run the same iterations as the loops that a rewrite replaced by them.
#pragma once
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "lib/uop/uop.h"

namespace tgc {

// A replacement of loops: pairs of a RANGE and the expression of other loops that replaces it.
using RangeMap = std::vector<std::pair<UOp, UOp>>;

// Returns true if the new loops run over the same iterations: the map from their indices to those of the replaced
// ranges is one to one and onto. Decides by the form of the map or, if this does not decide, by enumeration. Returns
// false if neither decides, for example because there are too many iterations to enumerate.
bool has_same_iterations(const RangeMap& map);

// Returns true if different values of the loops in `index` give different indices, all of them in 0..size-1. Enumerates
// the values. Returns false if there are too many, if the size of a loop is not constant, or if `index` has an op that
// cannot be evaluated.
bool is_injective_index(UOp index, int64_t size);

// An iteration of the replaced loops, as values of their RANGEs, that the new loops never run or run more than once.
struct WrongIteration {
  std::vector<std::pair<UOp, int64_t>> loop_values;
  bool is_lost = false;  // the new loops never run the iteration
};
// Returns an iteration that is lost or, if no lost one is found, one that runs more than once. Returns nullopt if
// neither is found, for example because there are too many iterations to enumerate.
std::optional<WrongIteration> wrong_iteration(const RangeMap& map);

// Returns the value of an integer expression of constants, such as 2 * 4 + 1; nullopt for other nodes, and for Invalid.
std::optional<int64_t> constant_integer(UOp u);

// Returns the number of iterations of a RANGE or SPECIAL; -1 if it is not constant.
int64_t constant_size(UOp loop);

}  // namespace tgc
