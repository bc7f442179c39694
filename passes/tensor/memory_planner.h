// The memory planner: intermediate buffers whose lives do not overlap share memory. Mirrors tinygrad engine/memory.py.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "passes/tensor/schedule.h"

namespace tgc {

// Where a buffer of the schedule lies.
struct BufferPlace {
  std::optional<size_t> shared = {};    // part of this shared buffer,
  int64_t offset = 0;                   // from this byte
  std::optional<size_t> same_as = {};   // or the memory of this other buffer of the schedule; neither: its own memory
};

struct SharedBuffer {
  std::string device;
  int64_t size = 0;  // bytes
};

struct MemoryPlan {
  std::vector<BufferPlace> places;  // one per buffer of the schedule; a view's is that of what it is a view of
  std::vector<SharedBuffer> shared;
  // bytes of the buffers that were planned, each its own, and as planned
  int64_t planned_before = 0, planned_after = 0;
  int64_t total_before = 0, total_after = 0;      // the same with all others: inputs, outputs and what is copied
};

// With NO_MEMORY_PLANNER=1 every buffer keeps its own memory.
MemoryPlan plan_memory(const Schedule& schedule, const Settings& settings);

}  // namespace tgc
