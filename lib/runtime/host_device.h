// HostDevice: memory and copies of a device that works in the host's own memory, for backends to derive from. Its
// buffers are guarded: each ends where a page ends, as near as its alignment allows, and pages that nobody may touch
// lie on both sides. What is left between buffer and pages holds a pattern, which a kernel that writes there breaks.
#pragma once
#include <unordered_map>

#include "lib/runtime/device.h"
#include "lib/runtime/guarded_memory.h"

namespace tgc {

class HostDevice : public Device {
 public:
  Result<DeviceBuffer> allocate(uint64_t bytes) override;
  void free(const DeviceBuffer& buffer) override { blocks_.erase(buffer.handle); }
  Status copy_in(const DeviceBuffer& to, const void* from) override;
  Status copy_out(void* to, const DeviceBuffer& from) override;
  Status synchronize() override { return Unit{}; }  // a launch returns when the kernel has run
  bool has_driver() const override { return false; }

  // Whether the pattern around a buffer is whole: "12 bytes after its end were written". Of memory that is not this
  // device's own there is nothing to say.
  Status check_around(const DeviceBuffer& buffer) const;
  Status check_around_all() const;  // of every buffer: "wrote 12 bytes after the end of a buffer of 32 bytes"

  static uint8_t* address(const DeviceBuffer& buffer) {
    return reinterpret_cast<uint8_t*>(buffer.handle) + buffer.offset;
  }

 private:
  std::unordered_map<uint64_t, GuardedMemory> blocks_;
};

}  // namespace tgc
