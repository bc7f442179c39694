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

template <class Condition>
bool ThreadPool::spin_until(Condition&& holds) const {
  if (holds()) return true;
  // yields, because the thread that this thread waits for may need this processor
  for (auto begin = Clock::now(); !is_oversubscribed_ && Clock::now() - begin < kSpinTime; std::this_thread::yield())
    for (int i = 0; i < 32; i++) {
      if (holds()) return true;
      pause_briefly();
    }
  return holds();
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard lock(mutex_);
    should_stop_ = true;
  }
  round_begun_.notify_all();
  for (std::thread& t : worker_threads_) t.join();
}

void ThreadPool::ensure_num_threads(size_t count) {
  while (worker_threads_.size() + 1 < count) {
    is_oversubscribed_ = worker_threads_.size() + 2 > std::thread::hardware_concurrency();
    try {
      worker_threads_.emplace_back([this, number = worker_threads_.size() + 1] { run_thread(number); });
    } catch (const std::system_error& e) {
      throw Failure("cannot start " + std::to_string(count) + " threads for a kernel, only " +
                    std::to_string(worker_threads_.size() + 1) + " (" + e.code().message() + ")");
    }
  }
}

void ThreadPool::start_all_threads(size_t count) {
  constexpr size_t kMost = 1024;
  ensure_num_threads(std::min(count, kMost));
  has_started_all_ = true;
}

void ThreadPool::run_task(size_t count, const std::function<void(size_t)>& task) {
  if (!has_started_all_) ensure_num_threads(count);
  size_t width = worker_threads_.size() + 1;
  if (count <= width) return run_launch_round(count, task);
  for (size_t begin = 0; begin < count; begin += width)
    run_launch_round(std::min(width, count - begin), [&](size_t i) { task(begin + i); });
}

void ThreadPool::run_launch_round(size_t count, const std::function<void(size_t)>& task) {
  if (count == 1) return task(0);
  task_ = &task;
  num_running_threads_ = count - 1;
  {
    std::lock_guard lock(mutex_);  // with the lock, a thread either sees the new round before it sleeps, or is woken
    launch_round_ = LaunchRound{launch_round_.load().number + 1, uint32_t(count)};
  }
  round_begun_.notify_all();
  task(0);
  auto done = [this] { return num_running_threads_.load() == 0; };
  if (spin_until(done)) return;
  std::unique_lock lock(mutex_);
  round_ended_.wait(lock, done);
}

void ThreadPool::run_thread(size_t number) {
  for (uint32_t seen = 0;;) {
    auto called = [&] { return should_stop_.load() || launch_round_.load().number != seen; };
    if (!spin_until(called)) {
      std::unique_lock lock(mutex_);
      round_begun_.wait(lock, called);
    }
    if (should_stop_) return;
    LaunchRound round = launch_round_;
    seen = round.number;
    if (number >= round.num_threads) continue;
    (*task_)(number);
    if (num_running_threads_.fetch_sub(1) > 1) continue;
    // after the lock, the caller has seen num_running_threads_ == 0, or it waits for round_ended_
    { std::lock_guard lock(mutex_); }
    round_ended_.notify_one();
  }
}

}  // namespace tgc
