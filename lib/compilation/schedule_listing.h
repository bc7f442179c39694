// Formats the schedule of a tensor graph as text for people and as JSON. Both have the cache key, the kernels in order
// with the buffers that they read and write, the buffers with their offsets in planned memory, and the bytes before and
// after memory planning.
#pragma once
#include <span>
#include <string>

#include "lib/support/sha256.h"
#include "passes/tensor/memory_planner.h"

namespace tgc {

// Returns the text. `made_for` has InputGraph::made_for of each item (empty: not recorded), or is empty.
std::string schedule_listing(const Schedule& schedule, const MemoryPlan& plan, const Sha256& key,
                             std::span<const std::string> made_for = {});

// Returns one JSON object: {"key", "kernels": [{"op", "ast_nodes", "buffers", "writes", "reads", "fixedvars",
// "made_for"}], "buffers": [{"device", "dtype", "size", "bytes", "input", "output", "view_of", "offset", "place"}],
// "shared", "outputs", "var_vals", "bytes": {...}}. Numbers of kernels and buffers are positions in these arrays.
std::string schedule_json(const Schedule& schedule, const MemoryPlan& plan, const Sha256& key,
                             std::span<const std::string> made_for = {});

}  // namespace tgc
