// Finds when the buffers of a profile were allocated and freed, which kernels used them, and the peak of each device's
// memory use.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "lib/profile/profile_file.h"

namespace tgc::profile {

struct BufferUse {
  std::string kernel;
  size_t buffer_index = 0;  // among the kernel's buffers
  bool is_read = false, is_written = false;
};
struct BufferLifetime {
  std::string_view device;
  int64_t buffer_key = 0;
  double num_bytes = 0;
  std::string dtype;
  double allocation_time_us = 0;
  std::optional<double> free_time_us;  // nullopt: the profile has no free
  std::vector<BufferUse> uses;
};
struct DeviceMemory {
  std::string_view device;
  double peak_bytes = 0;
  double peak_time_us = 0;
  double bytes_at_end = 0;
};
struct MemoryUse {
  std::vector<BufferLifetime> buffers;
  std::vector<DeviceMemory> devices;
};
MemoryUse memory_use(const ProfileTrace& trace);

using KernelOfDevice = std::pair<std::string, std::string>;
// Returns for each execution of a kernel the bytes of its buffers whose size is known, each counted once.
std::map<KernelOfDevice, std::vector<double>> buffer_bytes(const ProfileTrace& trace, const MemoryUse& memory);

}  // namespace tgc::profile
