#include "lib/support/ordered_pool.h"

#include "lib/support/settings.h"

namespace tgc {

OrderedPool::OrderedPool(unsigned num_jobs, size_t backlog)
    : max_threads_(num_jobs ? num_jobs : unsigned(Settings().cpu_count())),
      max_backlog_(backlog ? backlog : 4 * size_t(max_threads_)) {}

OrderedPool::~OrderedPool() {
  cancel_tasks();
  (void)finish_tasks();
}

bool OrderedPool::enqueue_task(std::unique_ptr<PoolTask> task) {
  std::unique_lock lock(mutex_);
  space_condition_.wait(lock, [&] { return first_error_ || task_queue_.size() + is_delivering_ < max_backlog_; });
  if (first_error_) return false;
  task_queue_.push_back(std::move(task));
  if (max_threads_ == 1) {
    run_next_task(lock);
  } else if (task_queue_.size() - num_started_tasks_ > num_idle_threads_ && worker_threads_.size() < max_threads_) {
    auto begun = catch_outcome([&] { worker_threads_.emplace_back([this] { run_worker(); }); });
    if (!begun && worker_threads_.empty()) run_next_task(lock);  // no thread could be created
    else if (!begun) work_condition_.notify_one();
  } else {
    work_condition_.notify_one();
  }
  return !first_error_;
}

void OrderedPool::run_worker() {
  std::unique_lock lock(mutex_);
  for (;;) {
    num_idle_threads_++;
    work_condition_.wait(lock, [&] { return num_started_tasks_ < task_queue_.size() || is_closed_; });
    num_idle_threads_--;
    if (num_started_tasks_ == task_queue_.size()) return;
    run_next_task(lock);
  }
}

void OrderedPool::run_next_task(std::unique_lock<std::mutex>& lock) {
  PoolTask& task = *task_queue_[num_started_tasks_++];
  lock.unlock();
  task.run_task();
  lock.lock();
  task.is_done = true;
  if (!is_delivering_) deliver_done_tasks(lock);
}

void OrderedPool::deliver_done_tasks(std::unique_lock<std::mutex>& lock) {
  is_delivering_ = true;
  while (!task_queue_.empty() && task_queue_.front()->is_done) {
    std::unique_ptr<PoolTask> task = std::move(task_queue_.front());
    task_queue_.pop_front();
    num_started_tasks_--;
    if (!first_error_) {
      lock.unlock();
      Status status = task->deliver_result();
      task.reset();
      lock.lock();
      if (!status) stop_with_error(status.diag());
    }
    space_condition_.notify_one();
  }
  is_delivering_ = false;
}

void OrderedPool::stop_with_error(Diag why) {
  if (first_error_) return;
  first_error_ = std::move(why);
  task_queue_.resize(num_started_tasks_);
  space_condition_.notify_all();
}

void OrderedPool::cancel_tasks() {
  std::lock_guard lock(mutex_);
  stop_with_error({.message = "cancelled"});
}

Status OrderedPool::finish_tasks() {
  {
    std::lock_guard lock(mutex_);
    is_closed_ = true;
  }
  work_condition_.notify_all();
  for (std::thread& t : worker_threads_) t.join();
  worker_threads_.clear();
  if (first_error_) return *first_error_;
  return Unit{};
}

}  // namespace tgc
