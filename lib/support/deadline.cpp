#include "lib/support/deadline.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace tgc {
namespace {

constexpr const char* kOutOfTime = "did not end within ";
thread_local Deadline current;

}  // namespace

double Deadline::seconds_left() const { return limit_seconds > 0 ? std::max(0.0, -seconds_since(end_time)) : INFINITY; }

const Deadline& current_deadline() { return current; }

Deadline deadline_within(double seconds) {
  if (seconds <= 0) return current;
  constexpr double kMaxWait = 1e9;  // much larger numbers overflow the clock
  auto wait = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::min(seconds, kMaxWait)));
  const Deadline own{seconds, Clock::now() + wait};
  return own.end_time < current.end_time ? own : current;
}

DeadlineScope::DeadlineScope(double seconds) : outer_deadline_(current) { current = deadline_within(seconds); }
DeadlineScope::~DeadlineScope() { current = outer_deadline_; }

void throw_if_late(double grace) {
  if (current.limit_seconds > 0 && seconds_since(current.end_time) > grace)
    throw Failure(out_of_time_error(current.limit_seconds));
}

Diag out_of_time_error(double seconds) {
  char text[64];
  std::snprintf(text, sizeof text, "%s%g second%s", kOutOfTime, seconds, seconds == 1 ? "" : "s");
  return {text};
}

bool is_out_of_time(const Diag& error) { return error.message.find(kOutOfTime) != std::string::npos; }

}  // namespace tgc
