// HostData: bytes that lie in this computer's memory already, with whoever keeps them alive.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

namespace tgc {

// The bytes of a buffer: of a mapped file, of an input, or made here; at any address.
struct HostData {
  const uint8_t* data = nullptr;
  size_t bytes = 0;
  std::shared_ptr<const void> owner = {};
  bool mapped = false;  // pages of a file, which the system can read again
};

}  // namespace tgc
