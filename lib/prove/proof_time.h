// The time limit for the proof of one kernel or rule. By default it limits processor time, so that a busy machine
// proves as much as an idle one.
#pragma once
#include <limits>

#include "lib/support/deadline.h"

namespace tgc {

// Limits the processor time of the calling thread while the object exists. Interrupts nothing: long computations must
// call is_over().
class ProcessorLimit {
 public:
  explicit ProcessorLimit(double seconds) : outer_end_seconds_(end_seconds()) {
    end_seconds() = thread_seconds() + seconds;
  }
  ~ProcessorLimit() { end_seconds() = outer_end_seconds_; }
  ProcessorLimit(const ProcessorLimit&) = delete;
  ProcessorLimit& operator=(const ProcessorLimit&) = delete;
  static bool is_over() { return seconds_left() <= 0; }
  static double seconds_left() { return end_seconds() - thread_seconds(); }

 private:
  static double& end_seconds() {
    thread_local double seconds = std::numeric_limits<double>::infinity();
    return seconds;
  }
  const double outer_end_seconds_;
};

inline bool is_time_over() { return current_deadline().is_over() || ProcessorLimit::is_over(); }

}  // namespace tgc
