#include "lib/support/ordered_pool.h"

#include "lib/support/settings.h"

namespace tgc {

OrderedPool::OrderedPool(unsigned jobs, size_t backlog)
    : max_threads_(jobs ? jobs : unsigned(Settings().cpu_count())),
      max_backlog_(backlog ? backlog : 4 * size_t(max_threads_)) {}

OrderedPool::~OrderedPool() {
  cancel();
  (void)finish();
}

bool OrderedPool::enqueue(std::unique_ptr<Task> task) {
  std::unique_lock lock(mutex_);
  has_space_.wait(lock, [&] { return error_ || queue_.size() + is_delivering_ < max_backlog_; });
  if (error_) return false;
  queue_.push_back(std::move(task));
  if (max_threads_ == 1) {
    run_next(lock);
  } else if (queue_.size() - num_started_ > num_idle_ && threads_.size() < max_threads_) {
    auto begun = catch_outcome([&] { threads_.emplace_back([this] { run_worker(); }); });
    if (!begun && threads_.empty()) run_next(lock);  // no thread could be created
    else if (!begun) has_work_.notify_one();
  } else {
    has_work_.notify_one();
  }
  return !error_;
}

void OrderedPool::run_worker() {
  std::unique_lock lock(mutex_);
  for (;;) {
    num_idle_++;
    has_work_.wait(lock, [&] { return num_started_ < queue_.size() || is_closed_; });
    num_idle_--;
    if (num_started_ == queue_.size()) return;
    run_next(lock);
  }
}

void OrderedPool::run_next(std::unique_lock<std::mutex>& lock) {
  Task& task = *queue_[num_started_++];
  lock.unlock();
  task.run_task();
  lock.lock();
  task.is_done = true;
  if (!is_delivering_) deliver_done_tasks(lock);
}

void OrderedPool::deliver_done_tasks(std::unique_lock<std::mutex>& lock) {
  is_delivering_ = true;
  while (!queue_.empty() && queue_.front()->is_done) {
    std::unique_ptr<Task> task = std::move(queue_.front());
    queue_.pop_front();
    num_started_--;
    if (!error_) {
      lock.unlock();
      Status status = task->deliver_result();
      task.reset();
      lock.lock();
      if (!status) stop_with(status.diag());
    }
    has_space_.notify_one();
  }
  is_delivering_ = false;
}

void OrderedPool::stop_with(Diag why) {
  if (error_) return;
  error_ = std::move(why);
  queue_.resize(num_started_);
  has_space_.notify_all();
}

void OrderedPool::cancel() {
  std::lock_guard lock(mutex_);
  stop_with({.message = "cancelled"});
}

Status OrderedPool::finish() {
  {
    std::lock_guard lock(mutex_);
    is_closed_ = true;
  }
  has_work_.notify_all();
  for (std::thread& t : threads_) t.join();
  threads_.clear();
  if (error_) return *error_;
  return Unit{};
}

}  // namespace tgc
