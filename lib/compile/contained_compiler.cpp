#include "lib/compile/contained_compiler.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>
#include <optional>
#include <queue>
#include <thread>

#include "lib/compile/backends.h"
#include "lib/compile/driver_room.h"
#include "lib/compile/job_bytes.h"
#include "lib/contain/system.h"
#include "lib/support/sanitized.h"

namespace tgc {
namespace {

using Compiler = std::string (*)(const CompileJob& job, Artifact what);
constexpr uint64_t kMemory = uint64_t(8) << 30;
const pid_t kFirstProcess = getpid();
constexpr int kMostSources = 256;  // compilers leak memory until the worker ends

struct Task {
  CompileJob job;
  Artifact what;
};

std::string packed(const CompileJob& job, Artifact what) {
  ByteWriter out;
  write_member(out, what), write_member(out, job);
  return out.take_bytes();
}
Task unpacked(std::string_view message) {
  ByteReader in(message);
  Task task;
  read_member(in, task.what), read_member(in, task.job);
  return task;
}

thread_local double worker_seconds = 0;

// An answer consists of the worker's processor time in seconds since the previous answer, a mark, and the result.
constexpr char kMade = '+', kRejected = '-';
constexpr size_t kHead = sizeof(double) + 1;

Result<std::string> outcome(Compiler compiler, const Task& task, double& reported) {
  return catch_failures([&] {
    char mark = kMade;
    std::string made;
    try {
      made = compiler(task.job, task.what);
    } catch (const RejectedSource& rejected) {
      const Diag& d = rejected.diag();
      mark = kRejected,
      made = ByteWriter().write_number(d.line).write_number(d.column).write_text(d.message).take_bytes();
    }
    double used = processor_seconds(), since = used - std::exchange(reported, used);
    return ByteWriter()
        .write_bytes(&since, sizeof since)
        .write_bytes(&mark, 1)
        .write_bytes(made.data(), made.size())
        .take_bytes();
  });
}

// `answer` came from a worker, or describes the worker's death if `died`.
std::string unpack_answer(Result<std::string> answer, const CompileJob& job, bool died) {
  if (died)
    throw Failure("the compiler of kernel '" + job.name + "' (" + std::string(name_of(job.language)) + ") " +
                  (answer.diag().message.starts_with("killed") ? "was " : "") + answer.diag().message);
  ByteReader in(answer.value_or_throw());
  double seconds = 0;
  char mark = 0;
  in.read_bytes(&seconds, sizeof seconds), in.read_bytes(&mark, 1);
  worker_seconds += seconds;
  if (mark == kMade) return answer->erase(0, kHead);
  Diag diag;
  diag.line = uint32_t(in.read_number()), diag.column = uint32_t(in.read_number()), diag.message = in.read_text();
  throw RejectedSource(std::move(diag));
}

struct WorkerNeeds {
  bool room = false;               // the worker may write files and start programs, as drivers and linkers do
  bool driver = false;
  unsigned engines = 0;            // bit mask of engines loaded before the fork
  Compiler compiler = nullptr;

  bool are_met_by(const WorkerNeeds& had) const {
    return room == had.room && driver == had.driver && compiler == had.compiler &&
           (engines & had.engines) == engines;
  }
};

WorkerNeeds needs_of(const CompileJob& job, Artifact what, Compiler compiler) {
  bool is_file = what == Artifact::Binary || what == Artifact::Disassembly;
  bool is_driver = (job.language == Language::OpenCl && what == Artifact::Binary) || needs_nvidia_tools(job, what);
  bool links = job.machine == "amdgcn" && is_file;
  return {.room = is_driver || links,
          .driver = is_driver,
          .engines = is_driver ? 0 : load_engines(job, what),
          .compiler = compiler};
}

// Starts workers from one permanent thread, because the system kills a worker when the thread that started it ends.
class WorkerStarter {
 public:
  // Starting a worker locks `loading`: a child forked while a thread loads an engine would get a half-loaded engine.
  explicit WorkerStarter(std::mutex& loading) : loading_(loading) {}

  Result<WorkerProcess> start(const std::function<Status(Worker&)>& body) {
    std::packaged_task<Result<WorkerProcess>()> task([&] { return WorkerProcess::start(body); });
    auto started = task.get_future();
    {
      std::lock_guard lock(mutex_);
      if (!runs_) std::thread([this] { serve(); }).detach();
      runs_ = true;  // stays false after a failure, so that the next call tries again
      tasks_.push(std::move(task));
    }
    any_.notify_one();
    return started.get();
  }

 private:
  [[noreturn]] void serve() {
    for (;;) {
      std::unique_lock lock(mutex_);
      any_.wait(lock, [&] { return !tasks_.empty(); });
      auto task = std::move(tasks_.front());  // moved out, because the caller may continue before task() returns
      tasks_.pop();
      lock.unlock();
      std::lock_guard no_loading(loading_);
      task();
    }
  }

  std::mutex& loading_;
  std::mutex mutex_;
  std::condition_variable any_;
  std::queue<std::packaged_task<Result<WorkerProcess>()>> tasks_;
  bool runs_ = false;
};

class CompileWorker {
 public:
  CompileWorker(const WorkerNeeds& has, WorkerStarter& starter) : has_(has) {
    if (has.room) room_.emplace();
    auto started = starter.start([this](Worker& worker) -> Status {
      if (room_) room_->confine_process(worker, kMemory);
      else worker.confine_process({.rights = Rights::Compile, .memory_bytes = kMemory});
      for (double reported = 0;;) worker.send_answer(outcome(has_.compiler, unpacked(worker.next_message()), reported));
    });
    process_.emplace(std::move(started.value_or_throw()));
  }

  bool meets(const WorkerNeeds& needs) const { return needs.are_met_by(has_); }
  bool has_room() const { return has_.room; }
  // A worker with a driver compiles one source: PoCL crashes on the second if two of its processes compile at once.
  bool is_used_up() const { return has_.driver || sources_ >= kMostSources; }

  std::string compile(const CompileJob& job, Artifact what) {
    sources_++;
    (void)process_->send(packed(job, what));  // if the worker is dead, receive_answer() reports it
    auto answer = process_->receive_answer(job.timeout_seconds);
    return unpack_answer(std::move(answer), job, process_->worker_exit().has_value());
  }

 private:
  WorkerNeeds has_;
  int sources_ = 0;
  std::optional<DriverSandbox> room_;
  std::optional<WorkerProcess> process_;  // declared after room_, so that the worker ends before its folder is removed
};

// Never destroyed, because the starter's thread runs until the process ends.
class Workers {
 public:
  const pid_t process = getpid();

  std::string compile(const CompileJob& job, Artifact what, Compiler compiler) {
    auto worker = take(needs_of_job(job, what, compiler));
    std::string made = worker->compile(job, what);
    keep(std::move(worker));  // not reached if compile() throws, because the worker's state is then unknown
    return made;
  }
  void end() {
    std::lock_guard lock(mutex_);
    idle_.clear();
  }

 private:
  WorkerNeeds needs_of_job(const CompileJob& job, Artifact what, Compiler compiler) {
    std::lock_guard lock(loading_);
    return needs_of(job, what, compiler);
  }
  std::unique_ptr<CompileWorker> take(const WorkerNeeds& needs) {
    std::unique_lock lock(mutex_);
    engines_ |= needs.engines;
    auto it = std::ranges::find_if(idle_, [&](auto& worker) { return worker->meets(needs); });
    if (it == idle_.end()) {
      WorkerNeeds has = needs;
      has.engines = engines_;
      lock.unlock();
      return std::make_unique<CompileWorker>(has, starter_);
    }
    auto out = std::move(*it);
    idle_.erase(it);
    return out;
  }
  void keep(std::unique_ptr<CompileWorker> worker) {
    // a forked process runs no destructors when it ends, so a DriverSandbox kept here would leave its folder behind
    if (worker->is_used_up() || (worker->has_room() && process != kFirstProcess)) return;
    std::lock_guard lock(mutex_);
    idle_.push_front(std::move(worker));
  }

  std::mutex loading_;  // held while engines are loaded, and while a worker starts
  WorkerStarter starter_{loading_};
  std::mutex mutex_;
  std::deque<std::unique_ptr<CompileWorker>> idle_;
  unsigned engines_ = 0;  // engines that this process has loaded, a bit mask
};

// A forked child has its own workers and never uses its parent's.
Workers& own_workers() {
  static std::atomic<Workers*> all = nullptr;
  static struct AtExit {
    ~AtExit() {
      if (Workers* w = all.load(); w && w->process == getpid()) w->end();
    }
  } at_exit;
  Workers* own = all.load();
  while (!own || own->process != getpid()) {
    auto made = std::make_unique<Workers>();
    if (all.compare_exchange_strong(own, made.get())) own = made.release();
  }
  return *own;
}

}  // namespace

std::string compile_by_worker(const CompileJob& job, Artifact what, Compiler compiler) {
  if (kIsSanitized) return compiler(job, what);
  return own_workers().compile(job, what, compiler);
}

double compiler_processor_seconds() { return worker_seconds; }

}  // namespace tgc
