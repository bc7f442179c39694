// Mutants: real graphs with damage done to them, as a compact program of bytes, for fuzzers and tests. A mutant is a
// seed (a kernel, a linear list or a tensor graph, at any stage) and steps of kStepBytes bytes, each one change: a
// source swapped, dropped, added or taken from elsewhere, another op, dtype, arg or tag, constants at the edges of
// their types, Invalid, ranges of one axis twice, subgraphs of other graphs, sizes without measure, entries of a list
// out of order. Any bytes are a mutant, so whoever mutates bytes mutates graphs, and a step that is left out leaves a
// simpler mutant. What comes out need not be a graph that tinygrad could build: that is the point.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "lib/uop/graph.h"

namespace tgc {

// One change, as its bytes say: kind, node and so on are taken modulo what there is.
struct MutationStep {
  uint8_t kind = 0;
  uint8_t slot = 0;    // which source
  uint16_t node = 0;   // what is changed, by position
  uint16_t other = 0;  // another node, or which donor
  uint16_t value = 0;  // of a table of values
};
inline constexpr size_t kStepBytes = sizeof(MutationStep);
inline constexpr int kNumMutations = 24;

// The steps in `bytes`; a rest that is no whole step is left out.
std::vector<MutationStep> steps_of(std::span<const uint8_t> bytes);

// Another graph to take parts from, as nodes of the graph that is asked for; the empty UOp: there is none.
using Donor = std::function<UOp(Graph& into, size_t number)>;

// `nodes` (a toposort, or a linear list) after the steps: of a graph again a toposort, whose last node is the root; of
// a list the list. A step that fits nowhere changes nothing. Throws Failure where a dtype is asked for that there
// cannot be.
std::vector<UOp> mutated(std::vector<UOp> nodes, bool is_list, std::span<const MutationStep> steps, const Donor& donor);

}  // namespace tgc
