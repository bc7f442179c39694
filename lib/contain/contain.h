// Containment: runs code that may crash, hang, exhaust memory or be malicious in a worker process. See confine.h and
// lib/execute/SECURITY.md.
#pragma once
#include <sys/types.h>

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "lib/contain/confine.h"
#include "lib/support/deadline.h"
#include "lib/support/result.h"

namespace tgc {

// How a worker that did not send an expected answer ended.
struct WorkerExit {
  int signal = 0;              // 0: the worker exited by itself
  bool has_timed_out = false;
};

struct NamedMemory {
  std::string name;
  uint64_t address = 0, bytes = 0;
};

// The worker's end of the channel to its parent.
class Worker {
 public:
  explicit Worker(int channel) : channel_(channel) {}

  // Throws Failure if tgc::confine_process() returns an error.
  void confine_process(const Confinement& what) { tgc::confine_process(what, channel_).value_or_throw(); }

  // Fault reports name these ranges ("4 bytes after the end of data1, 32 bytes"). `memory` must stay unchanged.
  static void watch_memory(std::span<const NamedMemory> memory);

  // Exits the process if the parent is gone.
  void send_answer(const Result<std::string>& result) const;
  // Exits the process if the parent closed the channel.
  std::string next_message() const;

 private:
  int channel_;
};

// Destroying a WorkerProcess in the process that started the worker kills the worker's process group.
class WorkerProcess {
 public:
  // Forks; the child runs `body`, and sends a Diag that `body` returns as its answer. `body` must not take a lock that
  // another thread of the parent may hold. The parent sees the child's changes only in shared memory
  // (Array::allocate_shared). The child has no channel to other workers.
  static Result<WorkerProcess> start(const std::function<Status(Worker&)>& body);
  WorkerProcess(WorkerProcess&& other) noexcept;
  WorkerProcess& operator=(WorkerProcess&&) = delete;
  ~WorkerProcess() { kill_and_wait(); }

  // Returns an error if the worker is dead, or if the message cannot be sent before the current deadline.
  Status send(std::string_view message);
  // Waits for the next answer. Kills the worker if none comes within `timeout_seconds` (0: no limit), or before
  // current_deadline(). The time restarts whenever the value of `progress` changes. If the worker dies or is killed,
  // this call and all later ones return a Diag such as "killed by SIGFPE (integer division by zero at 0x7f...)" or "did
  // not end within 5 seconds".
  Result<std::string> receive_answer(double timeout_seconds = 0, const std::function<uint64_t()>& progress = {});

  const std::optional<WorkerExit>& worker_exit() const { return worker_exit_; }
  // Returns false in a process forked from the one that started the worker.
  bool is_in_parent() const;

 private:
  WorkerProcess(pid_t child, int channel);
  int kill_and_wait();
  Diag record_exit(WorkerExit worker_exit, Diag diag);

  pid_t child_pid_ = 0, owner_pid_;
  int channel_ = -1;
  std::optional<WorkerExit> worker_exit_;
  Diag exit_cause_;
};

struct ContainOptions {
  double timeout_seconds = 0;  // 0: no limit
};

// The worker sends the result of `body` as its only answer; call receive_answer() to get it.
Result<WorkerProcess> begin_contained_worker(const std::function<Result<std::string>(Worker&)>& body);

// Runs `body` in a worker and returns its result, or an error if the worker cannot start or dies. If a worker started
// and `worker_exit` is not null, sets `*worker_exit`, to WorkerExit{} if the worker sent an answer.
Result<std::string> run_in_sandbox(const std::function<Result<std::string>(Worker&)>& body,
                                   const ContainOptions& options = {}, WorkerExit* worker_exit = nullptr);

}  // namespace tgc
