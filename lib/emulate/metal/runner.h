// The scheduler of a Metal kernel's threads.
#pragma once
#include <deque>

#include "lib/emulate/metal/grid.h"
#include "lib/emulate/metal/memory.h"

namespace tgc::metal {

// One lane's elements of the 8x8 matrices in D = A * B + C. The layout must match lib/compile/metal/library.cpp.
struct MatrixFragments {
  float a[2], b[2], c[2], d[2];
};

class GridRunner {
 public:
  explicit GridRunner(const KernelGrid& grid);
  std::optional<KernelFault> run();

  // Returns the runner whose kernel executes on this host thread.
  static GridRunner& current_runner();

  // The functions that compiled kernels call (functions.cpp) use the next three methods, on the fiber of the running
  // thread. `at` is the return address of the kernel's call.
  void check_access(const MemoryAccess& a, bool must_be_aligned, uint64_t at) {
    if (must_be_aligned && (a.address & (a.bytes - 1))) report_access_fault(a, at);
    if (a.address - running_stack_.begin < running_stack_.bytes) return;
    if (!memory_.contains_access(a)) report_access_fault(a, at);
    if (memory_.is_watched()) check_watched_access(a, at);
  }
  void* threadgroup_array(uint32_t number, uint64_t bytes, const char* name, uint64_t at);
  // Waits for all threads of the group. With `fragments`, waits for the SIMD group, whose matrices are then multiplied.
  void wait_for_threads(MatrixFragments* fragments, uint64_t at);

 private:
  struct WaitingThread {
    Fiber* fiber = nullptr;  // null if the thread does not wait
    MatrixFragments* fragments = nullptr;
    uint64_t return_address = 0;
  };
  static void fiber_body();
  void run_threads();
  void run_group(const std::array<uint32_t, 3>& group);
  void enter_fiber(Fiber* fiber);
  void resume_thread(uint32_t thread);
  bool resume_ready_threads();
  void multiply_matrices(uint32_t first);
  void check_watched_access(const MemoryAccess& a, uint64_t at);
  void report_access_fault(const MemoryAccess& a, uint64_t at);
  void report_fault(std::string what, uint64_t at, uint64_t other_at = 0);
  void report_thread_fault(uint32_t thread, std::string what);
  ThreadPosition position_of_thread(uint32_t thread) const;

  const KernelGrid& grid_;
  GpuMemory memory_;
  const uint32_t num_group_threads_;
  std::array<uint32_t, 3> group_id_{};
  // the running thread; the next one to start; number of finished threads
  uint32_t running_thread_ = 0, next_thread_ = 0, num_ended_threads_ = 0;
  std::deque<Fiber> fibers_;
  std::vector<Fiber*> idle_fibers_;
  Fiber* running_fiber_ = nullptr;
  MemoryRange running_stack_;
  std::vector<WaitingThread> waiting_threads_;
  std::optional<KernelFault> first_fault_;
};

}  // namespace tgc::metal
