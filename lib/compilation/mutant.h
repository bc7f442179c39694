// Mutates graphs, for fuzzers and tests. A mutant is a seed graph (a kernel, a linear list or a tensor graph, at any
// stage) and mutation steps of kStepBytes bytes each. A step changes one node: it swaps, drops, adds or replaces a
// source; replaces the op, dtype, arg or tag; inserts constants at the limits of their dtype, Invalid, a second range
// of an axis, a subgraph of another graph, or a huge size; or it reorders a list. Any byte string is a valid mutant, so
// a byte-level fuzzer can mutate graphs, and a mutant with fewer steps is simpler. Mutants are deliberately often
// graphs that tinygrad could not build.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "lib/uop/graph.h"

namespace tgc {

// One mutation. Each field is taken modulo the number of choices.
struct MutationStep {
  uint8_t kind = 0;
  uint8_t slot = 0;    // index of a source
  uint16_t node = 0;   // position of the node to change
  uint16_t other = 0;  // position of another node, or number of a graph to take a subgraph from
  uint16_t value = 0;  // index into a table of values
};
inline constexpr size_t kStepBytes = sizeof(MutationStep);
inline constexpr int kNumMutations = 24;

// Decodes the steps in `bytes`; ignores an incomplete last step.
std::vector<MutationStep> steps_of(std::span<const uint8_t> bytes);

// Builds in the Graph `into` a graph from which mutations take subgraphs: the one with index `number`. Returns its
// root; the empty UOp if there is no such graph.
using Donor = std::function<UOp(Graph& into, size_t number)>;

// Applies the steps to `nodes`: a toposort, or a linear list if `is_list`. Returns the changed nodes in the same order;
// the last of a toposort is the root. A step that does not apply changes nothing. Throws Failure for a bad dtype.
std::vector<UOp> mutated(std::vector<UOp> nodes, bool is_list, std::span<const MutationStep> steps, const Donor& donor);

}  // namespace tgc
