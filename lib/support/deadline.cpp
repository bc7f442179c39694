#include "lib/support/deadline.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace tgc {
namespace {

constexpr const char* kOutOfTime = "did not end within ";
thread_local Deadline current;

}  // namespace

double Deadline::seconds_left() const { return seconds > 0 ? std::max(0.0, -seconds_since(end)) : INFINITY; }

const Deadline& current_deadline() { return current; }

Deadline deadline_within(double seconds) {
  if (seconds <= 0) return current;
  constexpr double kMaxWait = 1e9;  // larger numbers overflow the clock
  auto wait = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::min(seconds, kMaxWait)));
  const Deadline own{seconds, Clock::now() + wait};
  return own.end < current.end ? own : current;
}

DeadlineScope::DeadlineScope(double seconds) : before_(current) { current = deadline_within(seconds); }
DeadlineScope::~DeadlineScope() { current = before_; }

void throw_if_late(double grace) {
  if (current.seconds > 0 && seconds_since(current.end) > grace) throw Failure(out_of_time(current.seconds));
}

Diag out_of_time(double seconds) {
  char text[64];
  std::snprintf(text, sizeof text, "%s%g second%s", kOutOfTime, seconds, seconds == 1 ? "" : "s");
  return {text};
}

bool is_out_of_time(const Diag& error) { return error.message.find(kOutOfTime) != std::string::npos; }

}  // namespace tgc
