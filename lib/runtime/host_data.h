// HostData: bytes in host memory, with the object that keeps them alive.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

namespace tgc {

// The bytes of a buffer, from a mapped file or allocated memory, at any alignment.
struct HostData {
  const uint8_t* data = nullptr;
  size_t bytes = 0;
  std::shared_ptr<const void> owner = {};
  bool mapped = false;  // true if the bytes are pages of a file, which the system can drop and read again
};

}  // namespace tgc
