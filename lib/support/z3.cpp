#include "lib/support/z3.h"

#include <dlfcn.h>
#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <list>
#include <mutex>
#include <thread>

#include "lib/support/result.h"

namespace tgc {
namespace {

class Z3Library {
 public:
  static Z3Library& instance() {
    static Z3Library z3;
    if (!z3.handle_)
      throw Failure(Diag{.message = "proofs take Z3, and libz3.so is not there", .expected = "the package libz3-dev"});
    return z3;
  }

  void* (*make_config)() = nullptr;
  void (*delete_config)(void*) = nullptr;
  void* (*make_context)(void*) = nullptr;
  void (*set_error_handler)(void*, void*) = nullptr;
  void (*delete_context)(void*) = nullptr;
  const char* (*eval)(void*, const char*) = nullptr;
  const char* (*version)() = nullptr;
  void (*set_global)(const char*, const char*) = nullptr;
  void (*interrupt)(void*) = nullptr;

 private:
  Z3Library() {
    for (const char* name : {"libz3.so.4", "libz3.so"})
      if ((handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL))) break;
    if (!handle_) return;
    bool all = load_function("Z3_mk_config", make_config) && load_function("Z3_mk_context", make_context) &&
               load_function("Z3_set_error_handler", set_error_handler) &&
               load_function("Z3_del_config", delete_config) && load_function("Z3_del_context", delete_context) &&
               load_function("Z3_eval_smtlib2_string", eval) && load_function("Z3_get_full_version", version) &&
               load_function("Z3_global_param_set", set_global) && load_function("Z3_interrupt", interrupt);
    if (!all) handle_ = nullptr;
    if (!handle_) return;
    // Limits on the memory of all contexts of the process together, in bytes and in MB.
    set_global("memory_high_watermark", "1200000000");
    set_global("memory_max_size", "1800");
  }
  template <class Function>
  bool load_function(const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(dlsym(handle_, name));
    return function != nullptr;
  }

  void* handle_ = nullptr;
};

// Interrupts queries that exceed their limits. One thread checks all queries.
class TimeoutWatcher {
 public:
  struct PendingQuery {
    void* context;
    clockid_t clock;  // processor time of the thread that calls ask_z3()
    double end;  // on that clock, in seconds
    const std::function<bool()>& should_stop;
    bool is_over = false;
  };
  using QueryIterator = std::list<PendingQuery>::iterator;

  static TimeoutWatcher& instance() {
    static TimeoutWatcher& watcher = *new TimeoutWatcher;  // the watcher's thread never ends
    return watcher;
  }
  QueryIterator add_query(void* context, double seconds, const std::function<bool()>& should_stop) {
    clockid_t clock;
    pthread_getcpuclockid(pthread_self(), &clock);
    std::lock_guard lock(mutex_);
    queries_.push_back({context, clock, clock_seconds(clock) + seconds, should_stop});
    queries_changed_.notify_one();
    return std::prev(queries_.end());
  }
  bool remove_query(QueryIterator query) {
    std::lock_guard lock(mutex_);
    const bool is_over = query->is_over;
    queries_.erase(query);
    return is_over;
  }

 private:
  TimeoutWatcher() { std::thread([this] { watch_queries(); }).detach(); }
  static double clock_seconds(clockid_t clock) {
    timespec t{};
    clock_gettime(clock, &t);
    return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
  }
  void watch_queries() {
    constexpr auto kPause = std::chrono::milliseconds(20);
    std::unique_lock lock(mutex_);
    for (;;) {
      queries_changed_.wait(lock, [&] { return !queries_.empty(); });
      for (PendingQuery& q : queries_)
        if (!q.is_over && (clock_seconds(q.clock) >= q.end || (q.should_stop && q.should_stop())))
          q.is_over = true, Z3Library::instance().interrupt(q.context);
      lock.unlock();
      std::this_thread::sleep_for(kPause);
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable queries_changed_;
  std::list<PendingQuery> queries_;
};

}  // namespace

Z3Session::Z3Session() {
  Z3Library& z3 = Z3Library::instance();
  void* config = z3.make_config();
  z3_context_ = z3.make_context(config);
  z3.delete_config(config);
  z3.set_error_handler(z3_context_, nullptr);  // the default handler ends the process; ask_z3() returns the error
}

Z3Session::~Z3Session() { Z3Library::instance().delete_context(z3_context_); }

std::string Z3Session::ask_z3(const std::string& text, double most_seconds, const std::function<bool()>& should_stop) {
  if (most_seconds <= 0) return Z3Library::instance().eval(z3_context_, text.c_str());
  const auto query = TimeoutWatcher::instance().add_query(z3_context_, most_seconds, should_stop);
  std::string out = Z3Library::instance().eval(z3_context_, text.c_str());
  is_over_ |= TimeoutWatcher::instance().remove_query(query);
  return out;
}

std::string z3_version() { return Z3Library::instance().version(); }

}  // namespace tgc
