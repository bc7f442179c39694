// Cheap clocks for RuleStats. Private to lib/rewrite.
#pragma once
#include <chrono>
#include <cstdint>

namespace tgc {

inline uint64_t now_ns() {
  return uint64_t(std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
}

inline uint64_t ticks() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  return now_ns();
#endif
}

}  // namespace tgc
