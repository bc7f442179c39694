// ScheduleMemory: where the buffers of a schedule lie on a device.
#pragma once
#include <unordered_map>
#include <vector>

#include "lib/execute/placement.h"
#include "lib/runtime/host_data.h"
#include "passes/tensor/memory_planner.h"

namespace tgc {

// What is known of buffers before anything runs, by BUFFER.
using BufferValues = std::unordered_map<UOp, HostData>;

// Buffers between kernels share memory as the memory planner says. Known values that lie in the host's memory as the
// device wants them, such as mapped weights, are used where they are, small ones and others are copied. All of it is
// freed with this.
class ScheduleMemory {
 public:
  // `device` is open and outlives this; `is_ref`: it is REF. Throws Failure when an input has no value in `known`, or
  // the device has no memory left.
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
