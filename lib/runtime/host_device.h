// HostDevice: base class of devices that work in host memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "lib/runtime/device.h"

namespace tgc {

// Zeroed memory between inaccessible guard pages, aligned to 64 bytes for vector loads of compiled kernels. A pattern
// fills the bytes between the memory and the guard pages.
class GuardedMemory {
 public:
  explicit GuardedMemory(size_t bytes);  // throws Failure if memory runs out
  GuardedMemory(GuardedMemory&& other) noexcept;
  GuardedMemory& operator=(GuardedMemory&&) = delete;
  ~GuardedMemory();

  uint8_t* data() const { return data_; }
  size_t size() const { return size_bytes_; }

  // Returns text such as "wrote 4 bytes after the end"; empty if the pattern is intact.
  std::string damage_text() const;

 private:
  uint8_t* memory_mapping_ = nullptr;
  size_t mapped_bytes_ = 0;
  uint8_t* data_ = nullptr;
  size_t size_bytes_ = 0;
};

class HostDevice : public Device {
 public:
  Result<DeviceBuffer> allocate(uint64_t bytes) override;
  void free(const DeviceBuffer& buffer) override { memory_blocks_.erase(buffer.handle); }
  Status copy_in(const DeviceBuffer& to, const void* from) override;
  Status copy_out(void* to, const DeviceBuffer& from) override;
  Status synchronize() override { return Unit{}; }  // launches are synchronous
  bool has_driver() const override { return false; }

  // Returns an error ("wrote 12 bytes after the end") if the pattern around the buffer was changed. A buffer that this
  // device did not allocate passes.
  Status check_guards(const DeviceBuffer& buffer) const;
  Status check_all_guards() const;

  static uint8_t* address(const DeviceBuffer& buffer) {
    return reinterpret_cast<uint8_t*>(buffer.handle) + buffer.offset;
  }

 private:
  std::unordered_map<uint64_t, GuardedMemory> memory_blocks_;
};

}  // namespace tgc
