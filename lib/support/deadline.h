// Clocks, and time limits of whole operations.
#pragma once
#include <chrono>
#include <ctime>

#include "lib/support/result.h"

namespace tgc {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Returns the CPU seconds that the calling thread has used. Unlike wall time, they do not grow on a busy machine.
inline double thread_seconds() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}

// Time limit of a whole operation, such as one trial of a kernel, from compiling it to saving the results. A
// DeadlineScope sets the limit for the calling thread. Code that may run long checks the deadline: for example,
// rewrites, REF, loops over large arrays, and waits for workers (lib/contain). A forked worker inherits the deadline.
struct Deadline {
  double limit_seconds = 0;                             // the time limit, for messages; 0 if there is no limit
  Clock::time_point end_time = Clock::time_point::max();

  bool is_over() const { return limit_seconds > 0 && Clock::now() >= end_time; }
  double seconds_left() const;                    // at least 0; infinity if there is no limit
};

// Returns the deadline of the calling thread.
const Deadline& current_deadline();
// Returns the earlier of two deadlines: the current one, and `seconds` from now. If `seconds` is not positive, returns
// the current one.
Deadline deadline_within(double seconds);

// Makes deadline_within(seconds) the current deadline of this thread during its lifetime.
class DeadlineScope {
 public:
  explicit DeadlineScope(double seconds);
  ~DeadlineScope();
  DeadlineScope(const DeadlineScope&) = delete;
  DeadlineScope& operator=(const DeadlineScope&) = delete;

 private:
  Deadline outer_deadline_;
};

// Extra seconds that this process has after the deadline, to compare and to save results that workers deliver shortly
// before the deadline.
inline constexpr double kCompareGraceSeconds = 0.5, kSaveGraceSeconds = 0.8;

// Throws out_of_time() as a Failure if the current deadline passed more than `grace` seconds ago. Code that may run
// long must call this function often.
void throw_if_late(double grace = kCompareGraceSeconds);

// Returns an error such as "did not end within 0.5 seconds".
Diag out_of_time(double seconds);
// Returns true if the message of `error` is, or contains, that of out_of_time().
bool is_out_of_time(const Diag& error);

}  // namespace tgc
