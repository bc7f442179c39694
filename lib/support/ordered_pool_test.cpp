#include "lib/support/ordered_pool.h"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <set>

using namespace tgc;

namespace {

class Gate {
 public:
  void open() {
    std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

}  // namespace

TEST_CASE("OrderedPool: results are delivered in submission order") {
  for (unsigned num_jobs : {1u, 2u, 5u}) {
    std::vector<int> order;
    OrderedPool pool(num_jobs);
    Gate second_is_done;
    for (int i = 0; i < 100; i++) {
      auto run = [&, i] {
        if (num_jobs > 1 && i == 0) second_is_done.wait();
        if (i == 1) second_is_done.open();
        return std::make_unique<int>(i * i);
      };
      CHECK(pool.submit_task(run, [&](std::unique_ptr<int> square) { order.push_back(*square); }));
    }
    CHECK(pool.finish_tasks());
    REQUIRE(order.size() == 100);
    for (int i = 0; i < 100; i++) CHECK(order[size_t(i)] == i * i);
  }
}

TEST_CASE("OrderedPool: tasks run in parallel on at most the requested number of threads") {
  std::atomic<int> running = 0, most = 0;
  Gate both;
  std::set<std::thread::id> threads;
  OrderedPool pool(2);
  for (int i = 0; i < 50; i++) {
    auto run = [&] {
      int now = ++running, before = most;
      while (before < now && !most.compare_exchange_weak(before, now)) {}
      if (now == 2) both.open();
      both.wait();
      running--;
      return std::this_thread::get_id();
    };
    REQUIRE(pool.submit_task(run, [&](std::thread::id id) { threads.insert(id); }));
  }
  CHECK(pool.finish_tasks());
  CHECK(most == 2);
  CHECK(threads.size() == 2);
  CHECK_FALSE(threads.contains(std::this_thread::get_id()));
}

TEST_CASE("OrderedPool: with one job, submit runs and delivers the task on the caller's thread") {
  OrderedPool pool(1);
  std::thread::id ran, delivered;
  CHECK(pool.submit_task([&] { ran = std::this_thread::get_id(); }, [&] { delivered = std::this_thread::get_id(); }));
  CHECK(ran == std::this_thread::get_id());
  CHECK(delivered == ran);
}

TEST_CASE("OrderedPool: submit blocks while the backlog is full") {
  OrderedPool pool(2, 3);
  Gate gate;
  std::atomic<int> submitted = 0, delivered = 0;
  std::thread submitter([&] {
    for (int i = 0; i < 10; i++) {
      if (!pool.submit_task([&] { gate.wait(); }, [&] { delivered++; })) return;
      submitted++;
    }
  });
  while (submitted < 3) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  CHECK(submitted == 3);
  gate.open();
  submitter.join();
  CHECK(pool.finish_tasks());
  CHECK(delivered == 10);
}

TEST_CASE("OrderedPool: the first error in submission order stops the pool") {
  struct Thrown : std::exception {
    const char* what() const noexcept override { return "something thrown"; }
  };
  for (unsigned num_jobs : {1u, 4u}) {
    for (int kind = 0; kind < 4; kind++) {
      OrderedPool pool(num_jobs);
      std::vector<int> delivered;
      int i = 0;
      auto run = [&, kind](int n) -> Result<int> {
        if (n == 7 && kind == 0) return Diag{"seven is refused"};
        if (n == 7 && kind == 1) throw Failure("seven failed");
        if (n == 7 && kind == 2) throw Thrown();
        if (n == 9) return Diag{"nine came first"};
        return n;
      };
      auto deliver = [&, kind](int n) -> Status {
        if (n == 7 && kind == 3) return Diag{"seven is not wanted"};
        delivered.push_back(n);
        return Unit{};
      };
      while (i < 100000 && pool.submit_task([&run, i] { return run(i); }, deliver)) i++;
      auto status = pool.finish_tasks();
      REQUIRE_FALSE(status);
      const char* expected[] = {"seven is refused", "seven failed", "internal error: something thrown",
                                "seven is not wanted"};
      CHECK(status.diag().message == expected[kind]);
      CHECK(delivered == std::vector{0, 1, 2, 3, 4, 5, 6});
      CHECK(i < 100);
      CHECK_FALSE(pool.submit_task([] { return 0; }, deliver));
    }
  }
}

TEST_CASE("OrderedPool: cancel drops tasks that have not started and stops deliveries") {
  Gate gate;
  int delivered = 0;
  std::atomic<int> begun = 0;
  OrderedPool pool(2, 100);
  for (int i = 0; i < 50; i++) REQUIRE(pool.submit_task([&] { begun++, gate.wait(); }, [&] { delivered++; }));
  pool.cancel_tasks();
  gate.open();
  auto status = pool.finish_tasks();
  REQUIRE_FALSE(status);
  CHECK(status.diag().message == "cancelled");
  CHECK(delivered == 0);
  CHECK(begun <= 2);
}

TEST_CASE("OrderedPool: a delivery may cancel, and the destructor may run with waiting tasks") {
  int delivered = 0;
  {
    OrderedPool pool(3);
    for (int i = 0; i < 1000; i++)
      if (!pool.submit_task([] {}, [&] {
            if (++delivered == 5) pool.cancel_tasks();
          }))
        break;
  }
  CHECK(delivered == 5);
}

TEST_CASE("parallel_for: runs every index once, calls done in order and returns the error with the lowest index") {
  for (unsigned num_jobs : {0u, 1u, 3u}) {
    std::vector<int> times(500);
    std::vector<size_t> done;
    CHECK(parallel_for(times.size(), num_jobs, [&](size_t i) { times[i]++; }, [&](size_t i) { done.push_back(i); }));
    CHECK(times == std::vector<int>(500, 1));
    REQUIRE(done.size() == 500);
    for (size_t i = 0; i < done.size(); i++) CHECK(done[i] == i);
    auto status = parallel_for(500, num_jobs, [](size_t i) -> Status {
      if (i == 20 || i == 21) return Diag{"stopped at " + std::to_string(i)};
      return Unit{};
    });
    REQUIRE_FALSE(status);
    CHECK(status.diag().message == "stopped at 20");
  }
  CHECK(parallel_for(0, 4, [](size_t) {}));
}
