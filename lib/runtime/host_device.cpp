#include "lib/runtime/host_device.h"

#include <cstring>

namespace tgc {

Result<DeviceBuffer> HostDevice::allocate(uint64_t bytes) {
  return catch_failures([&] {
    GuardedMemory memory{size_t(bytes)};
    auto handle = reinterpret_cast<uint64_t>(memory.data());
    blocks_.emplace(handle, std::move(memory));
    return DeviceBuffer{handle, 0, bytes};
  });
}

Status HostDevice::check_around(const DeviceBuffer& buffer) const {
  auto found = blocks_.find(buffer.handle);
  std::string damage = found == blocks_.end() ? "" : found->second.damage();
  return damage.empty() ? Status(Unit{}) : Diag{damage};
}

Status HostDevice::check_around_all() const {
  for (auto& [handle, memory] : blocks_)
    if (std::string damage = memory.damage(); !damage.empty())
      return Diag{"a kernel " + damage + " of a buffer of " + std::to_string(memory.size()) + " bytes"};
  return Unit{};
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
