#include "lib/runtime/host_device.h"

#include <cstring>

namespace tgc {

Result<DeviceBuffer> HostDevice::allocate(uint64_t bytes) {
  return catch_failures([&] {
    HostMemory memory{size_t(bytes)};
    auto handle = reinterpret_cast<uint64_t>(memory.data());
    blocks_.emplace(handle, std::move(memory));
    return DeviceBuffer{handle, 0, bytes};
  });
}

Status HostDevice::copy_in(const DeviceBuffer& to, const void* from) {
  if (to.bytes) std::memcpy(address(to), from, to.bytes);
  return Unit{};
}

Status HostDevice::copy_out(void* to, const DeviceBuffer& from) {
  if (from.bytes) std::memcpy(to, address(from), from.bytes);
  return Unit{};
}

}  // namespace tgc
