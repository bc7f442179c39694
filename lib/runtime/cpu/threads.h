// A thread pool for kernel launches. Threads start when a launch first needs them, or in start_threads(), and end with
// the pool. If every thread can have its own processor, idle threads spin briefly before they sleep, because waking a
// thread takes longer than a small kernel.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace tgc {

class Threads {
 public:
  ~Threads();
  // Starts the threads that launches of `count` threads need, up to a limit. Afterwards the pool starts no more
  // threads.
  void start_threads(size_t count);
  // Calls task(0), ..., task(count - 1), each on its own thread (task(0) on the caller's), and returns when all have
  // returned. If the pool has fewer threads and may not start more, the threads share the calls. Throws Failure if a
  // thread cannot be started.
  void run_task(size_t count, const std::function<void(size_t)>& task);

 private:
  // The number of a launch and its thread count, packed into one atomic word so that a thread that wakes late reads a
  // number and a count of the same launch, and can tell that it has no task in that launch.
  struct LaunchRound {
    uint32_t number = 0, count = 0;
  };
  void start(size_t count);
  void run_round(size_t count, const std::function<void(size_t)>& task);
  void run_thread(size_t number);
  template <class Condition>
  bool spin_until(Condition&& holds) const;

  std::mutex mutex_;
  std::condition_variable round_begun_, round_ended_;
  std::atomic<LaunchRound> round_;
  std::atomic<size_t> num_running_ = 0;
  const std::function<void(size_t)>* task_ = nullptr;           // valid while any thread of the current launch runs
  std::atomic<bool> should_stop_ = false, is_crowded_ = false;  // crowded: more threads than processors
  bool has_started_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace tgc
