// ScheduleMemory: the memory of a schedule's buffers on a device.
#pragma once
#include <unordered_map>
#include <vector>

#include "lib/execute/placement.h"
#include "lib/runtime/host_data.h"
#include "passes/tensor/memory_planner.h"

namespace tgc {

// The initial values of buffers, such as inputs and weights, by BUFFER node.
using BufferValues = std::unordered_map<UOp, HostData>;

// Allocates the buffers. Buffers between kernels share memory as the memory planner says. If the device
// takes host addresses, initial values are used in place if they are aligned and are mapped weights or at least 1
// MB large. Other initial values are copied. The destructor frees all.
class ScheduleMemory {
 public:
  // `device` must be open and outlive this object. `is_ref` says whether `device` is REF. Throws Failure if `known` has
  // no value for an input buffer, or if the device has too little memory.
  ScheduleMemory(Device& device, bool is_ref, const Schedule& schedule, const BufferValues& known,
                 const Settings& settings);
  ~ScheduleMemory();
  ScheduleMemory(const ScheduleMemory&) = delete;
  ScheduleMemory& operator=(const ScheduleMemory&) = delete;

  const DeviceBuffer& at(size_t buffer) const { return places_[buffer]; }  // by its number in the schedule
  const MemoryPlan& plan() const { return plan_; }

 private:
  DeviceBuffer allocate(uint64_t bytes);
  DeviceBuffer hold(const HostData& data);

  Device& device_;
  bool is_ref_;
  MemoryPlan plan_;
  std::vector<DeviceBuffer> owned_, places_;
};

}  // namespace tgc
