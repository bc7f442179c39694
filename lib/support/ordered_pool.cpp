#include "lib/support/ordered_pool.h"

#include "lib/support/settings.h"

namespace tgc {

OrderedPool::OrderedPool(unsigned jobs, size_t backlog)
    : jobs_(jobs ? jobs : unsigned(Settings().cpu_count())), backlog_(backlog ? backlog : 4 * size_t(jobs_)) {}

OrderedPool::~OrderedPool() {
  cancel();
  (void)finish();
}

bool OrderedPool::hold(std::unique_ptr<Task> task) {
  std::unique_lock lock(mutex_);
  space_.wait(lock, [&] { return trouble_ || held_.size() + delivering_ < backlog_; });
  if (trouble_) return false;
  held_.push_back(std::move(task));
  if (jobs_ == 1) {
    run_next(lock);
  } else if (held_.size() - begun_ > idle_ && threads_.size() < jobs_) {
    auto begun = settle([&] { threads_.emplace_back([this] { work(); }); });
    if (!begun && threads_.empty()) run_next(lock);  // no thread could be created, so run the task on this thread
    else if (!begun) ready_.notify_one();
  } else {
    ready_.notify_one();
  }
  return !trouble_;
}

void OrderedPool::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    idle_++;
    ready_.wait(lock, [&] { return begun_ < held_.size() || closed_; });
    idle_--;
    if (begun_ == held_.size()) return;
    run_next(lock);
  }
}

void OrderedPool::run_next(std::unique_lock<std::mutex>& lock) {
  Task& task = *held_[begun_++];  // the task stays in held_ until it is done
  lock.unlock();
  task.run();
  lock.lock();
  task.done = true;
  if (!delivering_) deliver_what_is_next(lock);  // a thread that is delivering also delivers this task
}

void OrderedPool::deliver_what_is_next(std::unique_lock<std::mutex>& lock) {
  delivering_ = true;
  while (!held_.empty() && held_.front()->done) {
    std::unique_ptr<Task> task = std::move(held_.front());
    held_.pop_front();
    begun_--;
    if (!trouble_) {
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
  if (trouble_) return;
  trouble_ = std::move(why);
  held_.resize(begun_);
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
  if (trouble_) return *trouble_;
  return Unit{};
}

}  // namespace tgc
