#include "lib/support/ordered_pool.h"

#include "lib/support/settings.h"

namespace tgc {

OrderedPool::OrderedPool(unsigned jobs, size_t backlog)
    : jobs_(jobs ? jobs : unsigned(Settings().cpu_count())), backlog_(backlog ? backlog : 4 * size_t(jobs_)) {}

OrderedPool::~OrderedPool() {
  cancel();
  (void)finish();
}

bool OrderedPool::enqueue(std::unique_ptr<Task> task) {
  std::unique_lock lock(mutex_);
  space_.wait(lock, [&] { return error_ || queue_.size() + delivering_ < backlog_; });
  if (error_) return false;
  queue_.push_back(std::move(task));
  if (jobs_ == 1) {
    run_next(lock);
  } else if (queue_.size() - num_started_ > idle_ && threads_.size() < jobs_) {
    auto begun = settle([&] { threads_.emplace_back([this] { work(); }); });
    if (!begun && threads_.empty()) run_next(lock);  // no thread could be created, so run the task on this thread
    else if (!begun) ready_.notify_one();
  } else {
    ready_.notify_one();
  }
  return !error_;
}

void OrderedPool::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    idle_++;
    ready_.wait(lock, [&] { return num_started_ < queue_.size() || closed_; });
    idle_--;
    if (num_started_ == queue_.size()) return;
    run_next(lock);
  }
}

void OrderedPool::run_next(std::unique_lock<std::mutex>& lock) {
  Task& task = *queue_[num_started_++];  // the task stays in queue_ until it is done
  lock.unlock();
  task.run();
  lock.lock();
  task.done = true;
  if (!delivering_) deliver_what_is_next(lock);  // a thread that is delivering also delivers this task
}

void OrderedPool::deliver_what_is_next(std::unique_lock<std::mutex>& lock) {
  delivering_ = true;
  while (!queue_.empty() && queue_.front()->done) {
    std::unique_ptr<Task> task = std::move(queue_.front());
    queue_.pop_front();
    num_started_--;
    if (!error_) {
      lock.unlock();
      Status status = task->deliver();
      task.reset();
      lock.lock();
      if (!status) stop(status.diag());
    }
    space_.notify_one();
  }
  delivering_ = false;
}

void OrderedPool::stop(Diag why) {
  if (error_) return;
  error_ = std::move(why);
  queue_.resize(num_started_);
  space_.notify_all();
}

void OrderedPool::cancel() {
  std::lock_guard lock(mutex_);
  stop({.message = "cancelled"});
}

Status OrderedPool::finish() {
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
  }
  ready_.notify_all();
  for (std::thread& t : threads_) t.join();
  threads_.clear();
  if (error_) return *error_;
  return Unit{};
}

}  // namespace tgc
