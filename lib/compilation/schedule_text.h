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

// Returns the kernels of `schedule` as golden records have them: a view becomes its base buffer and an offset. Fails if
// an AST cannot be printed.
Result<std::vector<GoldenKernel>> golden_kernels(const Schedule& schedule);

// Returns a text for comparing schedules: of each kernel the AST, a line for each buffer (BASE+OFFSET SIZE DTYPE) and
// fixed variables, then the schedule's variables.
std::string kernels_text(const std::vector<GoldenKernel>& kernels, const std::map<std::string, int64_t>& var_vals);

// Returns the schedule of a tensor graph as text for people. `key` is its cache key; user_operation[i] is
// InputGraph::user_operation of kernel i; `user_operation` may be empty.
std::string schedule_listing(const Schedule& schedule, const MemoryPlan& plan, const Sha256& key,
                             std::span<const std::string> user_operation = {});

// Returns `schedule` as a JSON object: {"key", "kernels": [{"op", "ast_nodes", "buffers", "writes", "reads",
// "fixedvars", "made_for"}], "buffers": [{"device", "dtype", "size", "bytes", "input", "output", "view_of",
// "offset", "place", "name"}], "shared", "outputs", "var_vals", "bytes": {...}}. Numbers of kernels and buffers are
// positions in these arrays. `buffer_names` maps BUFFERs to their names.
std::string schedule_json(const Schedule& schedule, const MemoryPlan& plan, const Sha256& key,
                          std::span<const std::string> user_operation = {},
                          const std::unordered_map<UOp, std::string>& buffer_names = {});

}  // namespace tgc
