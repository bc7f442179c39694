// OrderedPool, a thread pool that runs tasks in parallel and delivers their results one at a time, in the order of
// submission; and parallel_for(), a loop on such a pool.
//
//   OrderedPool pool(jobs);
//   while (read(line))
//     if (!pool.submit_task([line] { return check(line); }, [&](Report&& r) { summary.add(r); })) break;
//   if (auto status = pool.finish_tasks(); !status) return status.diag();
#pragma once
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <type_traits>
#include <vector>

#include "lib/support/result.h"

namespace tgc {

namespace detail {
template <class T>
struct CaughtOutcome {
  using type = Result<T>;
};
template <>
struct CaughtOutcome<void> {
  using type = Status;
};
template <class T>
struct CaughtOutcome<Result<T>> {
  using type = Result<T>;
};
}  // namespace detail

// Calls `body` and returns a Result: a returned Result unchanged, another value as a Result of its type, nothing as a
// Unit, and a thrown std::exception as a Diag.
template <class Body>
auto catch_outcome(Body&& body) {
  using T = decltype(body());
  using Out = typename detail::CaughtOutcome<T>::type;
  try {
    if constexpr (std::is_void_v<T>) return body(), Out(Unit{});
    else return Out(body());
  } catch (const Failure& failure) {
    return Out(failure.diag());
  } catch (const std::bad_alloc&) {
    return Out(Diag{"out of memory"});
  } catch (const std::exception& e) {
    return Out(Diag{std::string("internal error: ") + e.what()});
  }
}

class OrderedPool {
 public:
  // Uses at most `num_jobs` threads; 0 means one for each processor. With one job, submit_task() runs and delivers each
  // task on the caller's thread. At most `backlog` tasks are submitted and not yet delivered; 0 means four per job.
  explicit OrderedPool(unsigned num_jobs = 0, size_t backlog = 0);
  OrderedPool(const OrderedPool&) = delete;
  ~OrderedPool();  // drops tasks that have not started, and waits for the others

  // Submits a task; waits while the backlog is full. Returns false if the pool has stopped; finish_tasks() returns the
  // cause. `run()` is called on any thread and returns a T, a Result<T> or nothing. `deliver(T&&)` (or `deliver()`) is
  // called on any thread after all earlier tasks are delivered, never concurrently, and returns nothing or a Status.
  // The first error in submission order (a Diag or an exception) stops the pool: no later task is delivered, and tasks
  // that have not started are dropped. Neither function may call submit_task().
  template <class Run, class Deliver>
  bool submit_task(Run run, Deliver deliver) {
    return enqueue_task(std::make_unique<TypedTask<Run, Deliver>>(std::move(run), std::move(deliver)));
  }

  // Drops tasks not yet started and stops deliveries; finish_tasks() returns "cancelled" or an earlier error.
  // Thread-safe.
  void cancel_tasks();

  // Waits for all tasks. Returns the first error in submission order, if any. No task may be submitted afterwards.
  Status finish_tasks();

 private:
  class PoolTask {
   public:
    virtual ~PoolTask() = default;
    virtual void run_task() = 0;          // must not throw
    virtual Status deliver_result() = 0;  // must not throw
    bool is_done = false;
  };

  template <class Run, class Deliver>
  class TypedTask : public PoolTask {
   public:
    TypedTask(Run run, Deliver deliver) : run_(std::move(run)), deliver_(std::move(deliver)) {}
    void run_task() override { outcome_.emplace(catch_outcome(run_)); }
    Status deliver_result() override {
      if (!*outcome_) return outcome_->diag();
      return catch_outcome([&] {
        if constexpr (std::is_invocable_v<Deliver&>) return deliver_();
        else return deliver_(std::move(**outcome_));
      });
    }

   private:
    Run run_;
    Deliver deliver_;
    std::optional<decltype(catch_outcome(std::declval<Run&>()))> outcome_;
  };

  bool enqueue_task(std::unique_ptr<PoolTask> task);
  void run_worker();
  void run_next_task(std::unique_lock<std::mutex>& lock);
  void deliver_done_tasks(std::unique_lock<std::mutex>& lock);
  void stop_with_error(Diag why);  // requires mutex_ to be locked

  const unsigned max_threads_;
  const size_t max_backlog_;
  std::mutex mutex_;  // guards all members below
  std::condition_variable work_condition_, space_condition_;
  std::deque<std::unique_ptr<PoolTask>> task_queue_;  // tasks to deliver, in submission order
  size_t num_started_tasks_ = 0;
  size_t num_idle_threads_ = 0;
  bool is_delivering_ = false;               // a thread delivers a task that is not in task_queue_ any more
  bool is_closed_ = false;
  std::optional<Diag> first_error_;
  std::vector<std::thread> worker_threads_;
};

// Calls fn(i) for every i < n on at most `num_jobs` threads. Calls done(i) in the order of i, one at a time, once fn(0)
// to fn(i) have returned. fn and done return nothing or a Status. Stops at the error with the lowest i and returns it.
template <class Fn, class Done>
Status parallel_for(size_t n, unsigned num_jobs, Fn&& fn, Done&& done) {
  OrderedPool pool(num_jobs);
  for (size_t i = 0; i < n; i++)
    if (!pool.submit_task([&fn, i] { return fn(i); }, [&done, i] { return done(i); })) break;
  return pool.finish_tasks();
}
template <class Fn>
Status parallel_for(size_t n, unsigned num_jobs, Fn&& fn) {
  return parallel_for(n, num_jobs, fn, [](size_t) {});
}

}  // namespace tgc
