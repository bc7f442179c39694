#pragma once
#include <chrono>
#include <ctime>

#include "lib/support/result.h"

namespace tgc {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Returns the CPU seconds that the calling thread has used.
inline double thread_seconds() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}

// Time limit of a whole operation, which a DeadlineScope sets for the calling thread. Code that may run long checks it.
// A forked worker inherits the deadline.
struct Deadline {
  double limit_seconds = 0;                             // for messages; 0: no limit
  Clock::time_point end_time = Clock::time_point::max();

  bool is_over() const { return limit_seconds > 0 && Clock::now() >= end_time; }
  double seconds_left() const;                    // at least 0; infinity if there is no limit
};

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

// Extra seconds after the deadline, to compare and to save results that workers deliver shortly before it.
inline constexpr double kCompareGraceSeconds = 0.5, kSaveGraceSeconds = 0.8;

// Throws out_of_time_error() as a Failure if the current deadline passed more than `grace` seconds ago.
void throw_if_late(double grace = kCompareGraceSeconds);

// Returns an error "did not end within ...".
Diag out_of_time_error(double seconds);
// Returns true if the message of `error` contains "did not end within".
bool is_out_of_time(const Diag& error);

}  // namespace tgc
