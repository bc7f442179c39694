// HostDevice: base class of devices that work in host memory; implements memory and copies. Its buffers are
// GuardedMemory: an access beyond the guard pages faults, and a pattern next to the buffer detects smaller overruns.
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
  Status synchronize() override { return Unit{}; }  // launches are synchronous, so there is nothing to wait for
  bool has_driver() const override { return false; }

  // Returns an error ("wrote 12 bytes after the end") if the pattern around the buffer was changed. A buffer that this
  // device did not allocate always passes.
  Status check_around(const DeviceBuffer& buffer) const;
  // Checks every buffer's pattern. An error is "a kernel wrote 12 bytes after the end of a buffer of 32 bytes".
  Status check_around_all() const;

  static uint8_t* address(const DeviceBuffer& buffer) {
    return reinterpret_cast<uint8_t*>(buffer.handle) + buffer.offset;
  }

 private:
  std::unordered_map<uint64_t, GuardedMemory> blocks_;
};

}  // namespace tgc
