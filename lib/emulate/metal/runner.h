// The threads of a kernel at work: what run_grid and the functions that a kernel calls share.
#pragma once
#include <deque>
#include <utility>

#include "lib/emulate/metal/fiber.h"
#include "lib/emulate/metal/grid.h"
#include "lib/emulate/metal/memory.h"

namespace tgc::metal {

// A thread's part of D = A * B + C, 8 x 8 each, as library.cpp has it.
struct Fragments {
  float a[2], b[2], c[2], d[2];
};

class Runner {
 public:
  explicit Runner(const Grid& grid);
  std::optional<Fault> run();

  // That whose kernel runs on this thread of the host.
  static Runner& current();

  // All below is called on the fiber of the thread that runs.
  void access(const Access& a, bool aligned, uint64_t at) {
    if (aligned && (a.address & (a.bytes - 1))) fail_access(a, at);
    if (a.address - stack_.begin < stack_.bytes) return;  // what the compiler put there
    if (!memory_.holds(a)) fail_access(a, at);
    if (memory_.is_watched()) watch(a, at);
  }
  void* threadgroup(uint32_t number, uint64_t bytes, const char* name, uint64_t at);
  // Until all threads of the group, or with `fragments` of the SIMD group, have come; `at` is where it is called from.
  void wait(Fragments* fragments, uint64_t at);

 private:
  struct Waiting {
    Fiber* fiber = nullptr;  // null: it does not wait
    Fragments* fragments = nullptr;
    uint64_t at = 0;
  };
  static void body();
  void work();
  void run_group(const std::array<uint32_t, 3>& group);
  void enter(Fiber* fiber);
  void resume(uint32_t thread);
  bool go_on();
  void multiply(uint32_t first);
  void watch(const Access& a, uint64_t at);
  void fail_access(const Access& a, uint64_t at);
  void fail(std::string what, uint64_t at, uint64_t other_at = 0);
  void fail_for(uint32_t thread, std::string what);
  Position position_of(uint32_t thread) const;

  const Grid& grid_;
  Memory memory_;
  const uint32_t threads_;  // of a group
  std::array<uint32_t, 3> group_{};
  uint32_t thread_ = 0, next_ = 0, ended_ = 0;  // that runs; to begin next; how many have ended
  std::deque<Fiber> fibers_;
  std::vector<Fiber*> idle_;
  Fiber* fiber_ = nullptr;  // that runs
  Range stack_;             // its
  std::vector<Waiting> waiting_;
  std::optional<Fault> fault_;
};

}  // namespace tgc::metal
