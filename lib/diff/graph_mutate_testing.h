// Seeded changes to a graph, one at a time: what the tests of `tgc diff` look for. For tests alone.
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
  // Whether a diff of (original, mutated) shows this change.
  std::function<bool(const GraphDiff&)> is_shown;
};

// One change of that kind at a random place; nullopt when the graph has no place for it.
std::optional<Mutated> mutate(UOp root, Mutation kind, std::mt19937& random);

// The pyrender text with its names changed, its lines in another order that Python accepts too,
// and its ranges renumbered.
std::string scramble(const std::string& text, std::mt19937& random);

}  // namespace tgc::testing
