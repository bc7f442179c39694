// Converts schedules to the GoldenKernels of golden records, and these to text, so that schedules can be compared.
#pragma once
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/records/golden.h"
#include "lib/support/sha256.h"
#include "passes/tensor/memory_planner.h"
#include "passes/tensor/schedule.h"

namespace tgc {

// Returns the kernels of the schedule in order, with their buffers. A view becomes its base buffer and an offset.
Result<std::vector<GoldenKernel>> golden_kernels(const Schedule& schedule);

// Returns one line for each kernel, for each of its buffers ("BASE+OFFSET SIZE DTYPE"), and for each variable's value.
std::string kernels_text(const std::vector<GoldenKernel>& kernels, const std::map<std::string, int64_t>& var_vals);

// Formats the schedule of a tensor graph as text for people and as JSON: cache key, kernels in order with the buffers
// that they read and write, buffers with their places in planned memory, variables, bytes before and after planning.

// Returns the text. `key` is the cache key. made_for[i] is a text of the Tensor methods and call sites that kernel i
// implements (InputGraph::made_for), "" if these are not recorded; an empty `made_for`: not recorded for any kernel.
std::string schedule_listing(const Schedule& schedule, const MemoryPlan& plan, const Sha256& key,
                             std::span<const std::string> made_for = {});

// Returns one JSON object: {"key", "kernels": [{"op", "ast_nodes", "buffers", "writes", "reads", "fixedvars",
// "made_for"}], "buffers": [{"device", "dtype", "size", "bytes", "input", "output", "view_of", "offset", "place",
// "name"}], "shared", "outputs", "var_vals", "bytes": {...}}. Numbers of kernels and buffers are positions in these
// arrays. `buffer_names`: the names of inputs, by their BUFFER.
std::string schedule_json(const Schedule& schedule, const MemoryPlan& plan, const Sha256& key,
                          std::span<const std::string> made_for = {},
                          const std::unordered_map<UOp, std::string>& buffer_names = {});

}  // namespace tgc
