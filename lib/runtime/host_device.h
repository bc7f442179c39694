// HostDevice: memory and copies of a device that works in the host's own memory, for backends to derive from.
#pragma once
#include <unordered_map>

#include "lib/runtime/array.h"
#include "lib/runtime/device.h"

namespace tgc {

class HostDevice : public Device {
 public:
  Result<DeviceBuffer> allocate(uint64_t bytes) override;
  void free(const DeviceBuffer& buffer) override { blocks_.erase(buffer.handle); }
  Status copy_in(const DeviceBuffer& to, const void* from) override;
  Status copy_out(void* to, const DeviceBuffer& from) override;
  Status synchronize() override { return Unit{}; }  // a launch returns when the kernel has run

  static uint8_t* address(const DeviceBuffer& buffer) {
    return reinterpret_cast<uint8_t*>(buffer.handle) + buffer.offset;
  }

 private:
  std::unordered_map<uint64_t, HostMemory> blocks_;
};

}  // namespace tgc
