// Wall-clock and per-thread CPU time.
#pragma once
#include <chrono>
#include <ctime>

namespace tgc {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Returns the CPU seconds that the calling thread has used. Unlike wall time, they do not grow on a busy machine.
inline double thread_seconds() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}

}  // namespace tgc
