// The one thread pool: tasks are handed in while others run, and what they made is handed out in the order they came
// in, one at a time. So a thousand records are checked side by side and reported as if they were checked one after
// another.
//
//   OrderedPool pool(jobs);
//   while (read(line)) if (!pool.submit([line] { return check(line); }, [&](Report&& r) { summary.add(r); })) break;
//   if (auto status = pool.finish(); !status) return status.diag();
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
struct Settled {
  using type = Result<T>;
};
template <>
struct Settled<void> {
  using type = Status;
};
template <class T>
struct Settled<Result<T>> {
  using type = Result<T>;
};
}  // namespace detail

// What `body` returns, as a Result: a Result is itself, void is Unit. Whatever it throws is the Diag.
template <class Body>
auto settle(Body&& body) {
  using T = decltype(body());
  using Out = typename detail::Settled<T>::type;
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
  // At most `jobs` threads (0: one per processor), each begun when there is work for it. With one job everything
  // happens inside submit(), on the caller's thread. At most `backlog` tasks are held from submit()
  // to the end of their delivery (0: four a thread).
  explicit OrderedPool(unsigned jobs = 0, size_t backlog = 0);
  OrderedPool(const OrderedPool&) = delete;
  ~OrderedPool();  // cancels, then waits for what runs

  // Hands in a task; waits while the backlog is full. False: the pool has stopped, finish() tells why.
  // `run()` is called on any thread and returns a T, a Result<T> or nothing; `deliver(T&&)` (or `deliver()`) is called
  // with it when all tasks before it are delivered, on any thread, never two at a time, and returns nothing or a
  // Status. The first trouble in the order of the tasks, a Diag or anything thrown, stops the pool: of what comes after
  // it, nothing is delivered and what has not begun is dropped. Neither function may submit.
  template <class Run, class Deliver>
  bool submit(Run run, Deliver deliver) {
    return hold(std::make_unique<TaskOf<Run, Deliver>>(std::move(run), std::move(deliver)));
  }

  // From any thread: what has not begun is dropped, nothing more is delivered, and finish() answers "cancelled".
  void cancel();

  // Waits for all tasks; the first trouble, if any. Nothing may be submitted after it.
  Status finish();

 private:
  class Task {
   public:
    virtual ~Task() = default;
    virtual void run() = 0;        // never throws
    virtual Status deliver() = 0;  // nor this
    bool done = false;
  };

  template <class Run, class Deliver>
  class TaskOf : public Task {
   public:
    TaskOf(Run run, Deliver deliver) : run_(std::move(run)), deliver_(std::move(deliver)) {}
    void run() override { outcome_.emplace(settle(run_)); }
    Status deliver() override {
      if (!*outcome_) return outcome_->diag();
      return settle([&] {
        if constexpr (std::is_invocable_v<Deliver&>) return deliver_();
        else return deliver_(std::move(**outcome_));
      });
    }

   private:
    Run run_;
    Deliver deliver_;
    std::optional<decltype(settle(std::declval<Run&>()))> outcome_;
  };

  bool hold(std::unique_ptr<Task> task);
  void work();
  void run_next(std::unique_lock<std::mutex>& lock);
  void deliver_what_is_next(std::unique_lock<std::mutex>& lock);
  void stop(Diag why);  // with the mutex held

  const unsigned jobs_;
  const size_t backlog_;
  std::mutex mutex_;  // of all that follows
  std::condition_variable ready_, space_;
  std::deque<std::unique_ptr<Task>> held_;  // in order of submission; those that have begun come first
  size_t begun_ = 0;                        // of those held
  size_t idle_ = 0;                         // threads that wait for work
  bool delivering_ = false;                 // some thread is; the task it delivers is held no more
  bool closed_ = false;                     // nothing more will be submitted
  std::optional<Diag> trouble_;             // why it stopped
  std::vector<std::thread> threads_;
};

// fn(i) for every i below n on at most `jobs` threads, and done(i) one at a time, in order, when fn(0) to fn(i) are
// done. fn returns nothing or a Status. Returns the first trouble in the order of i;
// what has not begun by then is left out.
template <class Fn, class Done>
Status parallel_for(size_t n, unsigned jobs, Fn&& fn, Done&& done) {
  OrderedPool pool(jobs);
  for (size_t i = 0; i < n; i++)
    if (!pool.submit([&fn, i] { return fn(i); }, [&done, i] { return done(i); })) break;
  return pool.finish();
}
template <class Fn>
Status parallel_for(size_t n, unsigned jobs, Fn&& fn) {
  return parallel_for(n, jobs, fn, [](size_t) {});
}

}  // namespace tgc
