// GuardedMemory: zeroed memory between pages that nobody may touch.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace tgc {

// At a multiple of 64, because vector loads of compiled kernels rely on it; it ends where a page ends, or less than 64
// bytes before. These bytes, and those from the page's beginning to the memory's, hold a pattern.
class GuardedMemory {
 public:
  explicit GuardedMemory(size_t bytes);  // throws Failure, naming the size, when there is not enough
  GuardedMemory(GuardedMemory&& other) noexcept;
  GuardedMemory& operator=(GuardedMemory&&) = delete;
  ~GuardedMemory();

  uint8_t* data() const { return data_; }
  size_t size() const { return bytes_; }

  // What was done to the pattern: "wrote 4 bytes after the end", of the first such byte; empty when it is whole.
  std::string damage() const;

 private:
  uint8_t* mapping_ = nullptr;  // begins and ends with a page that is guarded
  size_t mapped_ = 0;
  uint8_t* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace tgc
