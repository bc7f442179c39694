// Containment: runs code that may crash, hang, use up the memory or mean harm in a worker process, so that this one
// only reads a report. What such a process may do is said in confine.h; lib/execute/SECURITY.md says who uses what.
#pragma once
#include <sys/types.h>

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "lib/contain/confine.h"
#include "lib/support/result.h"

namespace tgc {

// How a worker ended that gave no answer.
struct Death {
  int signal = 0;          // that killed it
  bool timed_out = false;  // it was killed because the time was over
};

// A piece of memory as a report names it: "data1".
struct NamedMemory {
  std::string name;
  uint64_t address = 0, bytes = 0;
};

// The worker, seen from within.
class Worker {
 public:
  explicit Worker(int channel) : channel_(channel) {}

  // Gives up rights. Throws Failure when that cannot be done.
  void confine(const Confinement& what) { tgc::confine(what, channel_).value_or_throw(); }

  // From here on a fault is reported with the nearest of these: "4 bytes after the end of data1 (32 bytes)". They stay
  // where they are.
  static void watch(std::span<const NamedMemory> memory);

  void answer(const Result<std::string>& result) const;
  // The next message of the process that started it; without one this process ends.
  std::string next_message() const;

 private:
  int channel_;
};

// A worker, seen from the process that started it. With it end all processes that it has started.
class WorkerProcess {
 public:
  // Forks; the child runs `body`, its Diag is an answer too. Threads of this process do not exist in the child: `body`
  // must not want a lock that one of them may hold. Whatever the child changes in its memory is gone, but for what is
  // shared (Array::shared). It cannot speak to other workers.
  static Result<WorkerProcess> start(const std::function<Status(Worker&)>& body);
  WorkerProcess(WorkerProcess&& other) noexcept;
  WorkerProcess& operator=(WorkerProcess&&) = delete;
  ~WorkerProcess() { end(); }

  // An error: it is dead; receive() says of what.
  Status send(std::string_view message);
  // The next answer. A worker that dies gives a Diag such as "killed by SIGFPE (division by zero at 0x7f...)", "killed
  // by SIGSYS (it called 'openat', which it may not)" or "did not end within 5 seconds", and so does every call after
  // it. The time begins anew whenever `progress` says another number.
  Result<std::string> receive(double timeout_seconds = 0, const std::function<uint64_t()>& progress = {});

  const std::optional<Death>& death() const { return death_; }
  // Whether this very process has started it, and not one that this was forked from.
  bool is_ours() const;

 private:
  WorkerProcess(pid_t child, int channel);
  int end();  // its status
  Diag dies(Death death, Diag diag);

  pid_t child_ = 0, owner_;
  int channel_ = -1;
  std::optional<Death> death_;
  Diag cause_;
};

// "did not end within 0.5 seconds"
Diag out_of_time(double seconds);

struct ContainOptions {
  double timeout_seconds = 0;  // 0: none
};

// A worker that gives one answer, of what `body` returns, or its Diag; receive() takes it.
Result<WorkerProcess> begin_contained(const std::function<Result<std::string>(Worker&)>& body);

// The same, waited for: what `body` returns is the answer here, or its Diag, or the Diag of its death, which
// then sets `death`.
Result<std::string> contain(const std::function<Result<std::string>(Worker&)>& body, const ContainOptions& options = {},
                            Death* death = nullptr);

}  // namespace tgc
