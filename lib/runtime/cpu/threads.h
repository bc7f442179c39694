// Threads that wait for the next kernel. They start when first needed, as many as the widest launch takes, and stay.
#pragma once
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace tgc {

class Threads {
 public:
  ~Threads();
  // Calls task(0), ..., task(count - 1), each on a thread of its own, the calling one for 0; returns when all have.
  void run(size_t count, const std::function<void(size_t)>& task);

 private:
  void work(size_t number);

  std::mutex mutex_;
  std::condition_variable begin_, end_;
  const std::function<void(size_t)>* task_ = nullptr;
  size_t count_ = 0, running_ = 0, round_ = 0;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace tgc
