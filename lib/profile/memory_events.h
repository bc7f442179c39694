// The buffers of a profile: when they were allocated and freed, and which kernels used them.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "lib/profile/profile_file.h"

namespace tgc::profile {

struct BufferUse {
  std::string kernel;
  size_t number = 0;  // number of the buffer among those of the kernel
  bool reads = false, writes = false;
};
struct BufferLife {
  std::string_view device;
  int64_t key = 0;
  double bytes = 0;
  std::string dtype;
  double begin = 0;           // microseconds
  std::optional<double> end;  // empty: never freed
  std::vector<BufferUse> uses;
};
struct DeviceMemory {
  std::string_view device;
  double peak = 0, peak_time = 0, at_end = 0;  // bytes, microseconds, bytes
};
struct MemoryEvents {
  std::vector<BufferLife> buffers;     // in the order of their allocation
  std::vector<DeviceMemory> devices;
};
MemoryEvents memory_events(const Trace& trace);

// Bytes of the buffers that each execution of a kernel uses, each buffer once.
using KernelOfDevice = std::pair<std::string, std::string>;  // device, kernel
std::map<KernelOfDevice, std::vector<double>> buffer_bytes(const Trace& trace, const MemoryEvents& memory);

}  // namespace tgc::profile
