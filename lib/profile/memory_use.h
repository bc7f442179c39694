// Finds the buffers of a profile: when they were allocated and freed, and which kernels used them.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "lib/profile/profile_file.h"

namespace tgc::profile {

struct BufferUse {
  std::string kernel;
  size_t buffer_index = 0;  // index of the buffer among the kernel's buffers
  bool is_read = false, is_written = false;
};
struct BufferLife {
  std::string_view device;
  int64_t buffer_key = 0;
  double num_bytes = 0;
  std::string dtype;
  double allocated_us = 0;         // when it was allocated, in microseconds
  std::optional<double> freed_us;  // when it was freed; nullopt: never
  std::vector<BufferUse> uses;
};
struct DeviceMemory {
  std::string_view device;
  double peak_bytes = 0;    // most bytes that were allocated at a time
  double peak_us = 0;       // when the peak was reached, in microseconds
  double bytes_at_end = 0;  // bytes that were allocated at the end
};
struct MemoryUse {
  std::vector<BufferLife> buffers;     // in the order of their allocation
  std::vector<DeviceMemory> devices;
};
MemoryUse memory_use(const Trace& trace);

using KernelOfDevice = std::pair<std::string, std::string>;  // names of a device and of a kernel
// Returns for each execution of a kernel the bytes of its buffers, each buffer counted once.
std::map<KernelOfDevice, std::vector<double>> buffer_bytes(const Trace& trace, const MemoryUse& memory);

}  // namespace tgc::profile
