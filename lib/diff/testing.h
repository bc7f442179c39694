// For tests of `tgc diff` only: makes one random change to a graph.
#pragma once
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "lib/diff/graph_diff.h"

namespace tgc::testing {

enum class Mutation {
  AxisType, Constant, SwappedSources, DroppedStore, OtherOp, OtherDType, RangeSize, OtherArg, OtherSource, Inserted,
  Removed, Validity
};
inline constexpr int kNumMutations = 12;
std::string_view name_of(Mutation m);

struct Mutated {
  UOp root;
  // Returns whether a diff of (original, mutated) shows this change.
  std::function<bool(const GraphDiff&)> is_shown;
};

// Makes one change of the kind `kind` at a random node; nullopt if the change is possible at no node of the graph.
std::optional<Mutated> mutate(UOp root, Mutation kind, std::mt19937& random);

// Returns the pyrender text with random names and range numbers, and with its lines in a random valid order.
std::string scramble(const std::string& text, std::mt19937& random);

}  // namespace tgc::testing
