// Threads that wait for the next kernel. They start when first needed, as many as the widest launch takes, and stay.
// Where each can have a processor of its own they look out for the next launch for a moment before they sleep: to wake
// a thread takes longer than a small kernel.
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
  // Starts what a launch of `count` threads needs. No more are started after this.
  void settle(size_t count);
  // Calls task(0), ..., task(count - 1), each on a thread of its own, the calling one for 0; returns when all have.
  // When there are to be no more threads than there are, they share the calls.
  void run(size_t count, const std::function<void(size_t)>& task);

 private:
  // A launch and its number, in one word, so that a thread that is not part of it can come late.
  struct Round {
    uint32_t number = 0, count = 0;
  };
  void start(size_t count);
  void run_round(size_t count, const std::function<void(size_t)>& task);
  void work(size_t number);
  template <class Condition>
  bool look_out(Condition&& holds) const;

  std::mutex mutex_;
  std::condition_variable begin_, end_;
  std::atomic<Round> round_;
  std::atomic<size_t> running_ = 0;
  const std::function<void(size_t)>* task_ = nullptr;  // stays while any thread of the round runs
  std::atomic<bool> stop_ = false, crowded_ = false;   // crowded: there are more threads than processors
  bool settled_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace tgc
