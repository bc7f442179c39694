// Containment: runs code that may crash, hang, exhaust memory or be malicious in a worker process, and returns the
// result or an error message to the parent. confine.h restricts what a worker may do; lib/execute/SECURITY.md lists
// which commands use which restrictions.
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

// How a worker that sent no answer ended.
struct WorkerDeath {
  int signal = 0;              // the signal that killed the worker; 0: it exited by itself
  bool has_timed_out = false;  // the parent killed the worker because its time was up
};

// An address range with a name for fault reports, such as "data1".
struct NamedMemory {
  std::string name;
  uint64_t address = 0, bytes = 0;
};

// The worker's end of the channel to its parent.
class Worker {
 public:
  explicit Worker(int channel) : channel_(channel) {}

  // Confines the worker for the rest of its life. Throws Failure if the system refuses.
  void confine(const Confinement& what) { tgc::confine(what, channel_).value_or_throw(); }

  // Sets the ranges that fault reports name ("4 bytes after the end of data1, 32 bytes"). `memory` must stay unchanged.
  static void watch_memory(std::span<const NamedMemory> memory);

  // Sends `result` to the parent. Exits the process if the parent is gone.
  void send_answer(const Result<std::string>& result) const;
  // Waits for the parent's next message. Exits the process if the parent closed the channel.
  std::string next_message() const;

 private:
  int channel_;
};

// The parent's handle to a worker. Destroying it in the process that started the worker kills the worker's process
// group, which includes the processes that the worker started.
class WorkerProcess {
 public:
  // Forks; the child runs `body`. If `body` returns a Diag, the child sends it as its answer. Returns an error if the
  // system cannot start a process. The parent's other threads do not exist in the child, so `body` must not take a lock
  // that they may hold. The parent does not see the child's changes to memory, except in shared memory
  // (Array::allocate_shared).
  // The child has no channel to other workers.
  static Result<WorkerProcess> start(const std::function<Status(Worker&)>& body);
  WorkerProcess(WorkerProcess&& other) noexcept;
  WorkerProcess& operator=(WorkerProcess&&) = delete;
  ~WorkerProcess() { kill_and_wait(); }

  // Sends a message. Returns an error if the worker is dead, or does not read the message before the current deadline.
  // receive() then returns the cause.
  Status send(std::string_view message);
  // Waits at most `timeout_seconds` (0: no limit) for the next answer. If the worker dies or the time is up, this call
  // and all later ones return a Diag such as "killed by SIGFPE (integer division by zero at 0x7f...)", "killed by
  // SIGSYS (it called 'openat', which it may not)" or "did not end within 5 seconds". A worker that starts too many
  // processes is killed, too. The time restarts whenever the value of `progress` changes. If current_deadline() is
  // earlier, it ends the wait.
  Result<std::string> receive(double timeout_seconds = 0, const std::function<uint64_t()>& progress = {});

  const std::optional<WorkerDeath>& death() const { return death_; }
  // Returns true in the process that started the worker, false in a process forked from it.
  bool is_in_parent() const;

 private:
  WorkerProcess(pid_t child, int channel);
  int kill_and_wait();  // kills the worker and returns its wait status
  Diag record_death(WorkerDeath death, Diag diag);

  pid_t child_pid_ = 0, owner_pid_;
  int channel_ = -1;
  std::optional<WorkerDeath> death_;
  Diag death_cause_;
};

struct ContainOptions {
  double timeout_seconds = 0;  // 0: no limit
};

// Starts a worker that runs `body` and sends its result as the only answer; call receive() to get it.
Result<WorkerProcess> begin_contained_worker(const std::function<Result<std::string>(Worker&)>& body);

// Runs `body` in a worker and returns its result. If the worker died, returns a Diag that says how. If the worker
// started, sets `death` unless it is null: to Death{} if the worker sent an answer.
Result<std::string> contain(const std::function<Result<std::string>(Worker&)>& body, const ContainOptions& options = {},
                            WorkerDeath* death = nullptr);

}  // namespace tgc
