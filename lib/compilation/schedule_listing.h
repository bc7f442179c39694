// The output "schedule" of a tensor graph, for people and as JSON: its kernels in order with what each reads and
// writes, its buffers and where the memory planner puts them, the key by which equal graphs are known, bytes before and
// after planning.
#pragma once
#include <span>
#include <string>

#include "lib/support/sha256.h"
#include "passes/tensor/memory_planner.h"

namespace tgc {

// `made_for`: of each item what it was made for, empty where nobody knows; or none at all.
std::string schedule_listing(const Schedule& schedule, const MemoryPlan& plan, const Sha256& key,
                             std::span<const std::string> made_for = {});

// One object: {"key", "kernels": [{"op", "ast_nodes", "buffers", "writes", "reads", "fixedvars", "made_for"}],
// "buffers": [{"device", "dtype", "size", "bytes", "input", "output", "view_of", "offset", "place"}], "shared",
// "outputs", "var_vals", "bytes": {...}}, numbers by position.
std::string schedule_json(const Schedule& schedule, const MemoryPlan& plan, const Sha256& key,
                             std::span<const std::string> made_for = {});

}  // namespace tgc
