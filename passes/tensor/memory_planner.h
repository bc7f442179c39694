// The memory planner: lets intermediate buffers with disjoint lifetimes share memory (tinygrad engine/memory.py).
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "passes/tensor/schedule.h"

namespace tgc {

// The memory of one buffer: part of a shared buffer, the memory of another buffer, or (neither is set) separate memory.
struct BufferPlace {
  std::optional<size_t> shared = {};    // index into MemoryPlan::shared
  int64_t offset = 0;                   // byte offset in that shared buffer
  std::optional<size_t> same_as = {};   // number of the schedule buffer whose memory this buffer reuses
};

struct SharedBuffer {
  std::string device;
  int64_t size = 0;  // bytes
};

struct MemoryPlan {
  std::vector<BufferPlace> places;  // one per buffer of the schedule; for a view, the entry of its base buffer
  std::vector<SharedBuffer> shared;
  // total bytes of the planned buffers: without and with sharing
  int64_t planned_before = 0, planned_after = 0;
  int64_t total_before = 0, total_after = 0;      // total bytes of all buffers, without and with sharing
};

// Plans the memory of all buffers of `schedule`. With NO_MEMORY_PLANNER=1, each buffer gets separate memory.
MemoryPlan plan_memory(const Schedule& schedule, const Settings& settings);

}  // namespace tgc
