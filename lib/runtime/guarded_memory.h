// GuardedMemory: zeroed memory between inaccessible guard pages.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace tgc {

// The memory is 64-byte aligned, because vector loads of compiled kernels rely on it, and ends less than 64 bytes
// before a page's end. A pattern fills the bytes between the memory and the guard pages.
class GuardedMemory {
 public:
  explicit GuardedMemory(size_t bytes);  // throws Failure with the size if memory runs out
  GuardedMemory(GuardedMemory&& other) noexcept;
  GuardedMemory& operator=(GuardedMemory&&) = delete;
  ~GuardedMemory();

  uint8_t* data() const { return data_; }
  size_t size() const { return bytes_; }

  // Describes the damage to the pattern: "wrote 4 bytes after the end"; empty if it is intact.
  std::string damage() const;

 private:
  uint8_t* mapping_ = nullptr;  // begins and ends with guard pages
  size_t mapped_ = 0;
  uint8_t* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace tgc
