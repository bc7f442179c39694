#include "lib/runtime/cpu/threads.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <system_error>

#include "lib/support/result.h"

namespace tgc {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kSpinTime = std::chrono::microseconds(100);

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

// Spins until the condition holds, for at most kSpinTime; returns whether it holds.
template <class Condition>
bool Threads::spin_until(Condition&& holds) const {
  if (holds()) return true;
  // yield, because the thread that this thread waits for may need this processor
  for (auto begin = Clock::now(); !crowded_ && Clock::now() - begin < kSpinTime; std::this_thread::yield())
    for (int i = 0; i < 32; i++) {
      if (holds()) return true;
      pause_briefly();
    }
  return holds();
}

Threads::~Threads() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  begin_.notify_all();
  for (std::thread& t : threads_) t.join();
}

void Threads::start(size_t count) {
  while (threads_.size() + 1 < count) {
    crowded_ = threads_.size() + 2 > std::thread::hardware_concurrency();
    try {
      threads_.emplace_back([this, number = threads_.size() + 1] { work(number); });
    } catch (const std::system_error& e) {
      throw Failure("cannot start " + std::to_string(count) + " threads for a kernel, only " +
                    std::to_string(threads_.size() + 1) + " (" + e.code().message() + ")");
    }
  }
}

void Threads::settle(size_t count) {
  constexpr size_t kMost = 1024;
  start(std::min(count, kMost));
  settled_ = true;
}

void Threads::run(size_t count, const std::function<void(size_t)>& task) {
  if (!settled_) start(count);
  size_t width = threads_.size() + 1;
  if (count <= width) return run_round(count, task);
  for (size_t begin = 0; begin < count; begin += width)
    run_round(std::min(width, count - begin), [&](size_t i) { task(begin + i); });
}

void Threads::run_round(size_t count, const std::function<void(size_t)>& task) {
  if (count == 1) return task(0);
  task_ = &task;
  running_ = count - 1;
  {
    std::lock_guard lock(mutex_);  // with the lock, a thread either sees the new round before it sleeps, or is woken
    round_ = Round{round_.load().number + 1, uint32_t(count)};
  }
  begin_.notify_all();
  task(0);
  auto done = [this] { return running_.load() == 0; };
  if (spin_until(done)) return;
  std::unique_lock lock(mutex_);
  end_.wait(lock, done);
}

void Threads::work(size_t number) {
  for (uint32_t seen = 0;;) {
    auto called = [&] { return stop_.load() || round_.load().number != seen; };
    if (!spin_until(called)) {
      std::unique_lock lock(mutex_);
      begin_.wait(lock, called);
    }
    if (stop_) return;
    Round round = round_;
    seen = round.number;
    if (number >= round.count) continue;
    (*task_)(number);
    if (running_.fetch_sub(1) > 1) continue;
    { std::lock_guard lock(mutex_); }  // after the lock, the caller has seen running_ == 0, or it waits for end_
    end_.notify_one();
  }
}

}  // namespace tgc
