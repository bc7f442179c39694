#include "lib/runtime/cpu/threads.h"

namespace tgc {

Threads::~Threads() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  begin_.notify_all();
  for (std::thread& t : threads_) t.join();
}

void Threads::run(size_t count, const std::function<void(size_t)>& task) {
  while (threads_.size() + 1 < count) threads_.emplace_back([this, number = threads_.size() + 1] { work(number); });
  {
    std::lock_guard lock(mutex_);
    task_ = &task, count_ = count, running_ = count - 1, round_++;
  }
  begin_.notify_all();
  task(0);
  std::unique_lock lock(mutex_);
  end_.wait(lock, [this] { return running_ == 0; });
}

void Threads::work(size_t number) {
  std::unique_lock lock(mutex_);
  for (size_t seen = 0;;) {
    begin_.wait(lock, [&] { return stop_ || (round_ != seen && task_); });
    if (stop_) return;
    seen = round_;
    if (number >= count_) continue;
    auto task = task_;
    lock.unlock();
    (*task)(number);
    lock.lock();
    if (--running_ == 0) end_.notify_one();
  }
}

}  // namespace tgc
