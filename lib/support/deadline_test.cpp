#include "lib/support/deadline.h"

#include <doctest/doctest.h>

#include <cmath>
#include <thread>

namespace tgc {

TEST_CASE("deadline: an inner scope can only shorten the time limit") {
  CHECK(std::isinf(current_deadline().seconds_left()));
  CHECK(std::isinf(deadline_within(0).seconds_left()));
  {
    DeadlineScope outer(50);
    CHECK(current_deadline().limit_seconds == 50);
    {
      DeadlineScope longer(100), none(0);
      CHECK(current_deadline().limit_seconds == 50);
      DeadlineScope shorter(0.001);
      CHECK(current_deadline().limit_seconds == 0.001);
      std::thread([] { CHECK(std::isinf(current_deadline().seconds_left())); }).join();
    }
    CHECK(current_deadline().seconds_left() > 1);
    CHECK(!current_deadline().is_over());
    CHECK(deadline_within(1e300).limit_seconds == 50);
  }
  CHECK(std::isinf(current_deadline().seconds_left()));
  CHECK(deadline_within(1e300).seconds_left() > 1e8);
}

TEST_CASE("deadline: work of this process ends after a grace period") {
  DeadlineScope scope(0.05);
  throw_if_late();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  CHECK(current_deadline().is_over());
  CHECK(current_deadline().seconds_left() == 0);
  throw_if_late(100);
  CHECK_THROWS_AS(throw_if_late(0), Failure);
  CHECK(is_out_of_time(out_of_time_error(0.05)));
  CHECK(is_out_of_time({.message = "the reference, REF: " + out_of_time_error(1).message}));
  CHECK(!is_out_of_time({.message = "killed by SIGSEGV"}));
}

}  // namespace tgc
