// Time limits for the proof of one kernel or rule.
#pragma once
#include <functional>
#include <limits>
#include <utility>

#include "lib/support/deadline.h"

namespace tgc {

// Limits the processor time of the calling thread while the object exists. Interrupts nothing: long computations must
// call is_over().
class ProcessorTimeLimit {
 public:
  explicit ProcessorTimeLimit(double seconds) : outer_end_seconds_(end_seconds()) {
    end_seconds() = thread_seconds() + seconds;
  }
  ~ProcessorTimeLimit() { end_seconds() = outer_end_seconds_; }
  ProcessorTimeLimit(const ProcessorTimeLimit&) = delete;
  ProcessorTimeLimit& operator=(const ProcessorTimeLimit&) = delete;
  static bool is_over() { return seconds_left() <= 0; }
  static double seconds_left() { return end_seconds() - thread_seconds(); }

 private:
  static double& end_seconds() {
    thread_local double seconds = std::numeric_limits<double>::infinity();
    return seconds;
  }
  const double outer_end_seconds_;
};

// Makes proofs on the calling thread end soon once `should_stop` returns true, while the object exists. Several threads
// call `should_stop`.
class StopScope {
 public:
  explicit StopScope(std::function<bool()> should_stop)
      : outer_check_(std::exchange(check(), std::move(should_stop))) {}
  ~StopScope() { check() = std::move(outer_check_); }
  StopScope(const StopScope&) = delete;
  static const std::function<bool()>& current_check() { return check(); }
  static bool is_stopped() { return check() && check()(); }

 private:
  static std::function<bool()>& check() {
    thread_local std::function<bool()> should_stop;
    return should_stop;
  }
  std::function<bool()> outer_check_;
};

inline bool is_time_over() {
  return current_deadline().is_over() || ProcessorTimeLimit::is_over() || StopScope::is_stopped();
}

}  // namespace tgc
