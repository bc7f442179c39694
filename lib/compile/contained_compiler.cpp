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

using CompileFunction = std::string (*)(const CompileJob& job, Artifact what);
constexpr uint64_t kMemory = uint64_t(8) << 30;
const pid_t kFirstProcess = getpid();
constexpr int kMostSources = 256;  // compilers leak memory until the worker ends

struct CompileTask {
  CompileJob job;
  Artifact artifact;
};

std::string encode_task(const CompileJob& job, Artifact what) {
  ByteWriter out;
  write_member(out, what), write_member(out, job);
  return out.take_bytes();
}
CompileTask decode_task(std::string_view message) {
  ByteReader in(message);
  CompileTask task;
  read_member(in, task.artifact), read_member(in, task.job);
  return task;
}

thread_local double worker_seconds = 0;

// An answer consists of the worker's processor time in seconds since the previous answer, a mark, and the result.
constexpr char kMade = '+', kRejected = '-';
constexpr size_t kHead = sizeof(double) + 1;

Result<std::string> run_task(CompileFunction compiler, const CompileTask& task, double& reported) {
  return catch_failures([&] {
    char mark = kMade;
    std::string made;
    try {
      made = compiler(task.job, task.artifact);
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
std::string decode_answer(Result<std::string> answer, const CompileJob& job, bool died) {
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
  bool needs_sandbox = false;               // the worker may write files and start programs, as drivers and linkers do
  bool needs_driver = false;
  unsigned engines = 0;            // bit mask of engines loaded before the fork
  CompileFunction compiler = nullptr;

  bool are_met_by(const WorkerNeeds& had) const {
    return needs_sandbox == had.needs_sandbox && needs_driver == had.needs_driver && compiler == had.compiler &&
           (engines & had.engines) == engines;
  }
};

WorkerNeeds worker_needs_of_job(const CompileJob& job, Artifact what, CompileFunction compiler) {
  bool is_file = what == Artifact::Binary || what == Artifact::Disassembly;
  bool is_driver = (job.language == Language::OpenCl && what == Artifact::Binary) || needs_nvidia_tools(job, what);
  bool links = job.machine == "amdgcn" && is_file;
  return {.needs_sandbox = is_driver || links,
          .needs_driver = is_driver,
          .engines = is_driver ? 0 : load_engines(job, what),
          .compiler = compiler};
}

// Starts workers from one permanent thread, because the system kills a worker when the thread that started it ends.
class WorkerStarter {
 public:
  // Starting a worker locks `loading`: a child forked while a thread loads an engine would get a half-loaded engine.
  explicit WorkerStarter(std::mutex& loading) : loading_mutex_(loading) {}

  Result<WorkerProcess> start(const std::function<Status(Worker&)>& body) {
    std::packaged_task<Result<WorkerProcess>()> task([&] { return WorkerProcess::start(body); });
    auto started = task.get_future();
    {
      std::lock_guard lock(mutex_);
      if (!is_running_) std::thread([this] { run_start_tasks(); }).detach();
      is_running_ = true;  // stays false after a failure, so that the next call tries again
      start_tasks_.push(std::move(task));
    }
    has_tasks_.notify_one();
    return started.get();
  }

 private:
  [[noreturn]] void run_start_tasks() {
    for (;;) {
      std::unique_lock lock(mutex_);
      has_tasks_.wait(lock, [&] { return !start_tasks_.empty(); });
      auto task = std::move(start_tasks_.front());  // moved out, because the caller may continue before task() returns
      start_tasks_.pop();
      lock.unlock();
      std::lock_guard no_loading(loading_mutex_);
      task();
    }
  }

  std::mutex& loading_mutex_;
  std::mutex mutex_;
  std::condition_variable has_tasks_;
  std::queue<std::packaged_task<Result<WorkerProcess>()>> start_tasks_;
  bool is_running_ = false;
};

class CompileWorker {
 public:
  CompileWorker(const WorkerNeeds& has, WorkerStarter& starter) : capabilities_(has) {
    if (has.needs_sandbox) sandbox_.emplace();
    auto started = starter.start([this](Worker& worker) -> Status {
      if (sandbox_) sandbox_->confine_process(worker, kMemory);
      else worker.confine_process({.rights = WorkerRights::Compile, .memory_bytes = kMemory});
      for (double reported = 0;;)
        worker.send_answer(run_task(capabilities_.compiler, decode_task(worker.next_message()), reported));
    });
    process_.emplace(std::move(started.value_or_throw()));
  }

  bool meets_needs(const WorkerNeeds& needs) const { return needs.are_met_by(capabilities_); }
  bool has_sandbox() const { return capabilities_.needs_sandbox; }
  // A worker with a driver compiles one source: PoCL crashes on the second if two of its processes compile at once.
  bool is_used_up() const { return capabilities_.needs_driver || num_sources_ >= kMostSources; }

  std::string compile(const CompileJob& job, Artifact what) {
    num_sources_++;
    (void)process_->send(encode_task(job, what));  // if the worker is dead, receive_answer() reports it
    auto answer = process_->receive_answer(job.timeout_seconds);
    return decode_answer(std::move(answer), job, process_->worker_exit().has_value());
  }

 private:
  WorkerNeeds capabilities_;
  int num_sources_ = 0;
  std::optional<DriverSandbox> sandbox_;
  std::optional<WorkerProcess>
      process_;  // declared after sandbox_, so that the worker ends before its folder is removed
};

// Never destroyed, because the starter's thread runs until the process ends.
class WorkerPool {
 public:
  const pid_t process_id = getpid();

  std::string compile(const CompileJob& job, Artifact what, CompileFunction compiler) {
    auto worker = acquire_worker(needs_of_job(job, what, compiler));
    std::string made = worker->compile(job, what);
    release_worker(std::move(worker));  // not reached if compile() throws, because the worker's state is then unknown
    return made;
  }
  void end_workers() {
    std::lock_guard lock(mutex_);
    idle_workers_.clear();
  }

 private:
  WorkerNeeds needs_of_job(const CompileJob& job, Artifact what, CompileFunction compiler) {
    std::lock_guard lock(loading_mutex_);
    return worker_needs_of_job(job, what, compiler);
  }
  std::unique_ptr<CompileWorker> acquire_worker(const WorkerNeeds& needs) {
    std::unique_lock lock(mutex_);
    loaded_engine_mask_ |= needs.engines;
    auto it = std::ranges::find_if(idle_workers_, [&](auto& worker) { return worker->meets_needs(needs); });
    if (it == idle_workers_.end()) {
      WorkerNeeds has = needs;
      has.engines = loaded_engine_mask_;
      lock.unlock();
      return std::make_unique<CompileWorker>(has, starter_);
    }
    auto out = std::move(*it);
    idle_workers_.erase(it);
    return out;
  }
  void release_worker(std::unique_ptr<CompileWorker> worker) {
    // a forked process runs no destructors when it ends, so a DriverSandbox kept here would leave its folder behind
    if (worker->is_used_up() || (worker->has_sandbox() && process_id != kFirstProcess)) return;
    std::lock_guard lock(mutex_);
    idle_workers_.push_front(std::move(worker));
  }

  std::mutex loading_mutex_;  // held while engines are loaded, and while a worker starts
  WorkerStarter starter_{loading_mutex_};
  std::mutex mutex_;
  std::deque<std::unique_ptr<CompileWorker>> idle_workers_;
  unsigned loaded_engine_mask_ = 0;  // engines that this process has loaded, a bit mask
};

// A forked child has its own workers and never uses its parent's.
WorkerPool& worker_pool_of_process() {
  static std::atomic<WorkerPool*> all = nullptr;
  static struct AtExitCleanup {
    ~AtExitCleanup() {
      if (WorkerPool* w = all.load(); w && w->process_id == getpid()) w->end_workers();
    }
  } at_exit;
  WorkerPool* own = all.load();
  while (!own || own->process_id != getpid()) {
    auto made = std::make_unique<WorkerPool>();
    if (all.compare_exchange_strong(own, made.get())) own = made.release();
  }
  return *own;
}

}  // namespace

std::string compile_by_worker(const CompileJob& job, Artifact what, CompileFunction compiler) {
  if (kIsSanitized) return compiler(job, what);
  return worker_pool_of_process().compile(job, what, compiler);
}

double compiler_processor_seconds() { return worker_seconds; }

}  // namespace tgc
