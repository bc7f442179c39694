// HostDevice: base class of devices that work in host memory; implements memory and copies. Its buffers are
// GuardedMemory: an access to the guard pages around a buffer faults, and a pattern next to the buffer detects smaller
// overruns.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "lib/runtime/device.h"

namespace tgc {

// Zeroed memory between inaccessible guard pages. The memory is 64-byte aligned, because vector loads of compiled
// kernels rely on it, and ends less than 64 bytes before a page's end. A pattern fills the bytes between the memory and
// the guard pages.
class GuardedMemory {
 public:
  explicit GuardedMemory(size_t bytes);  // throws Failure with the size if memory runs out
  GuardedMemory(GuardedMemory&& other) noexcept;
  GuardedMemory& operator=(GuardedMemory&&) = delete;
  ~GuardedMemory();

  uint8_t* data() const { return data_; }
  size_t size() const { return size_bytes_; }

  // Describes the damage to the pattern: "wrote 4 bytes after the end"; empty if it is intact.
  std::string damage_text() const;

 private:
  uint8_t* mapping_ = nullptr;  // begins and ends with guard pages
  size_t mapped_bytes_ = 0;
  uint8_t* data_ = nullptr;
  size_t size_bytes_ = 0;
};

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
