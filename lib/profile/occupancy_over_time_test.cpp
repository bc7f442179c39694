#include "lib/profile/occupancy_over_time.h"

#include <doctest/doctest.h>

namespace tgc::profile {
namespace {

// A run with two traces: the second clock is 1,000 cycles ahead of the first one.
Profile two_engines(std::vector<WaveSpan> first, std::vector<WaveSpan> second, uint64_t second_mark = 7) {
  Profile p;
  p.trace.runs.push_back({.name = "E_4", .kernel = "E_4", .sqtt_events = {0, 1}});
  p.trace.sqtt_events.resize(2);
  p.sqtt_summaries.resize(2);
  p.sqtt_summaries[0].wave_spans = std::move(first), p.sqtt_summaries[0].clock_mark = {7, 500};
  p.sqtt_summaries[1].wave_spans = std::move(second), p.sqtt_summaries[1].clock_mark = {second_mark, 1500};
  return p;
}

}  // namespace

TEST_CASE("occupancy over time: waves of both engines on one clock, and why there are no more") {
  const WaveSpan early{.cu = 0, .simd = 0, .wave = 0, .begin = 1000, .end = 2000},
      late{.cu = 0, .simd = 0, .wave = 1, .begin = 1500, .end = 2000},
      other{.cu = 1, .simd = 2, .wave = 0, .begin = 2000, .end = 3000};  // 1000 to 2000 on the first clock
  const auto o = occupancy_over_time(two_engines({early, late}, {other}), 0);
  REQUIRE(o);
  CHECK(o->begin == 1000);
  CHECK(o->end == 2000);
  CHECK(o->num_simds == 2);
  CHECK(o->largest_wave_count == 2);
  CHECK(o->overall_mean_num_waves == doctest::Approx(1.25));
  CHECK(o->mean_num_waves.front() == doctest::Approx(1));
  CHECK(o->mean_num_waves.back() == doctest::Approx(1.5));
  CHECK(o->time_share_of_limit(OccupancyLimit::Starting) == doctest::Approx(0.5));
  CHECK(o->time_share_of_limit(OccupancyLimit::Launch) == doctest::Approx(0.5));
}

TEST_CASE("occupancy over time: traces without a common mark and waves without an end do not count") {
  const WaveSpan wave{.begin = 1000, .end = 2000}, open{.begin = 1000};
  const auto o = occupancy_over_time(two_engines({wave}, {wave}, 8), 0);
  REQUIRE(o);
  CHECK(o->num_simds == 1);
  CHECK_FALSE(occupancy_over_time(two_engines({open}, {}), 0));
  const WaveSpan damaged{.begin = INT64_MIN + 1, .end = INT64_MAX};
  CHECK_FALSE(occupancy_over_time(two_engines({damaged}, {}), 0));
}

}  // namespace tgc::profile
