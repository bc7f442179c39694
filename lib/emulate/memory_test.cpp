#include "lib/emulate/memory.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace tgc::emulate {

TEST_CASE("emulated memory: an index that is wrong by a factor of two reaches no other array") {
  GpuMemory memory(1 << 28);
  for (uint64_t bytes : {1, 160, 4096, 100'000, 3'000'000})
    for (int i = 0; i < 20; i++) REQUIRE(memory.allocate(bytes) % 256 == 0);
  for (const MemoryRange& r : memory.ranges()) {
    const uint64_t bytes = r.end - r.begin, room = std::max<uint64_t>(bytes, 1 << 16);
    CHECK(memory.contains(r.begin, bytes));
    for (uint64_t at = r.end; at < r.end + room; at += std::max<uint64_t>(room / 64, 1)) CHECK(!memory.contains(at, 1));
  }
}

TEST_CASE("emulated memory: allocations are limited, and freed bytes can be allocated again") {
  GpuMemory memory(1000);
  const uint64_t all = memory.allocate(1000);
  REQUIRE(all != 0);
  CHECK(memory.allocate(1) == 0);
  CHECK(memory.used_bytes() == 1000);
  CHECK(!memory.free(all + 256));
  CHECK(memory.free(all));
  CHECK(!memory.contains(all, 1));
  CHECK(memory.allocate(1001) == 0);
  CHECK(memory.allocate(1000) != 0);
}

}  // namespace tgc::emulate
