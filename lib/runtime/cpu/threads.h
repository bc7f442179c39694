// A thread pool for kernel launches. If every thread can have its own processor, idle threads spin briefly before they
// sleep.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace tgc {

class ThreadPool {
 public:
  ~ThreadPool();
  // Starts the threads for launches of `count` threads, up to a limit. Afterwards run_task() starts no more threads.
  void start_all_threads(size_t count);
  // Calls task(0), ..., task(count - 1), each on its own thread (task(0) on the caller's) if the pool has enough
  // threads, and returns when all have returned. Throws Failure if a thread cannot be started.
  void run_task(size_t count, const std::function<void(size_t)>& task);

 private:
  // Stored as a single atomic word, so that a thread that wakes late reads the number and the count of the same round.
  struct LaunchRound {
    uint32_t number = 0, num_threads = 0;
  };
  void ensure_num_threads(size_t count);
  void run_launch_round(size_t count, const std::function<void(size_t)>& task);
  void run_thread(size_t number);
  template <class Condition>
  bool spin_until(Condition&& holds) const;

  std::mutex mutex_;
  std::condition_variable round_begun_, round_ended_;
  std::atomic<LaunchRound> launch_round_;
  std::atomic<size_t> num_running_threads_ = 0;
  const std::function<void(size_t)>* task_ = nullptr;
  std::atomic<bool> should_stop_ = false, is_oversubscribed_ = false;  // oversubscribed: more threads than processors
  bool has_started_all_ = false;
  std::vector<std::thread> worker_threads_;
};

}  // namespace tgc
