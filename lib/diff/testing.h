// For tests of `tgc diff` only: makes one random change to a graph, or scrambles its text.
#pragma once
#include <functional>
#include <optional>
#include <random>
#include <string>

#include "lib/diff/graph_diff.h"

namespace tgc::testing {

enum class MutationKind {
  AxisType, Constant, SwappedSources, DroppedStore, OtherOp, OtherDType, RangeSize, OtherArg, OtherSource, Inserted,
  Removed, Validity
};
inline constexpr int kNumMutationKinds = 12;
std::string_view name_of(MutationKind m);

struct MutatedGraph {
  UOp root;
  // returns true if a diff of the original and the mutated graph shows the change
  std::function<bool(const GraphDiff&)> is_shown;
};

// Makes one random change of kind `kind`; nullopt if it finds no such change.
std::optional<MutatedGraph> mutate_graph(UOp root, MutationKind kind, std::mt19937& random);

// Returns the pyrender text of a kernel with other names and range numbers, and with its lines in a random order.
std::string scramble_text(const std::string& text, std::mt19937& random);

}  // namespace tgc::testing
