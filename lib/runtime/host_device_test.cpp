#include "lib/runtime/host_device.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <thread>

using namespace tgc;

TEST_CASE("guarded memory is zeroed and its pattern intact, also when a mapping is reused") {
  std::thread other([] {  // the thread unmaps the mappings that it kept for reuse when it ends
    for (size_t bytes : {0, 1, 4, 100, 4096, 5000}) {
      CAPTURE(bytes);
      for (int round = 0; round < 3; round++) {
        GuardedMemory memory(bytes), second(bytes);
        CHECK(std::count(memory.data(), memory.data() + bytes, 0) == std::ptrdiff_t(bytes));
        CHECK(memory.damage_text() == "");
        std::memset(memory.data(), 1, bytes);
        if (bytes % 64 == 0) continue;  // a multiple of 64 leaves no room for a pattern after the end
        memory.data()[bytes] = 1;
        CHECK(memory.damage_text() == "wrote 1 byte after the end");
      }
    }
  });
  other.join();
}
