// Mutates graphs by steps, often to graphs that tinygrad could not build. Any byte string is a list of steps, so that
// libFuzzer can mutate graphs by mutating bytes.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "lib/uop/graph.h"

namespace tgc {

// Each value is taken modulo the number of choices.
struct MutationStep {
  uint8_t kind = 0;
  uint8_t slot_index = 0;
  uint16_t node_position = 0;
  uint16_t other_position = 0;  // selects a second node, source or graph
  uint16_t value_choice = 0;
};
inline constexpr size_t kMutationStepBytes = sizeof(MutationStep);
inline constexpr int kNumMutations = 24;

// Ignores an incomplete last step.
std::vector<MutationStep> steps_of_bytes(std::span<const uint8_t> bytes);

// Builds graph `number` in `into`; returns its root, or the empty UOp if there is no such graph.
using SubgraphDonor = std::function<UOp(Graph& into, size_t number)>;

// Applies the steps to `nodes`, a toposort or, if `is_list` is set, a linear list. Ignores steps that do not fit.
// Returns an error if a step fails, such as one that makes an invalid dtype.
Result<std::vector<UOp>> mutate_nodes(std::vector<UOp> nodes, bool is_list, std::span<const MutationStep> steps,
                                      const SubgraphDonor& donor);

}  // namespace tgc
