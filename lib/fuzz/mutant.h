// Mutates graphs, for fuzzers and tests. A mutant is made from a graph (a kernel, a linear list or a tensor graph, at
// any stage) by a list of mutation steps. A step changes sources, op, dtype, arg or tag of one node, inserts a node or
// a subgraph of another graph, or removes, swaps or repeats nodes of a list. Many mutants are graphs that tinygrad
// could not build. A step is encoded as kStepBytes bytes, and any byte string is a list of steps, so that libFuzzer can
// mutate graphs by mutating bytes.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "lib/uop/graph.h"

namespace tgc {

// One mutation. The values of its fields are taken modulo the number of choices.
struct MutationStep {
  uint8_t kind = 0;
  uint8_t slot_index = 0;       // index of a source of the node, or of an item of its arg
  uint16_t node_position = 0;   // position of the node to change
  uint16_t other_position = 0;  // position of a second node or source, or number of the graph to take a subgraph from
  uint16_t value_choice = 0;    // selects a value, such as an op, dtype, arg or size, as `kind` requires
};
inline constexpr size_t kStepBytes = sizeof(MutationStep);
inline constexpr int kNumMutations = 24;

// Decodes the steps in `bytes`. Ignores an incomplete last step.
std::vector<MutationStep> steps_of_bytes(std::span<const uint8_t> bytes);

// Builds graph `number` in the Graph `into`, for mutations that insert a subgraph of another graph. Returns the graph's
// root; the empty UOp if there is no graph with this number.
using Donor = std::function<UOp(Graph& into, size_t number)>;

// Applies the steps to `nodes`, the toposort of a graph or, if `is_list` is set, a linear list. Returns the new
// toposort, with the root last, or the new list. Ignores steps that do not fit. Returns an error if a step makes an
// invalid dtype.
Result<std::vector<UOp>> mutate_nodes(std::vector<UOp> nodes, bool is_list, std::span<const MutationStep> steps,
                                      const Donor& donor);

}  // namespace tgc
