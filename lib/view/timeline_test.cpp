#include "lib/view/timeline.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "lib/view/profile_tracks.h"

namespace tgc {
namespace {

std::vector<TimeSlice> random_slices(size_t count, unsigned seed) {
  std::mt19937 draw(seed);
  std::vector<TimeSlice> out;
  for (uint32_t row = 0; row < 2; row++) {
    int64_t time = -50;
    for (size_t n = 0; n < count; n++) {
      time += draw() % 5;
      int64_t length = draw() % 20 ? 1 + draw() % 3 : 1 + draw() % 500;
      out.push_back({.row = row,
                     .kind = uint8_t(draw() % 4),
                     .begin = time,
                     .end = time + length,
                     .item_number = uint32_t(n),
                     .amount = double(1 + draw() % 3)});
      time += length;
    }
  }
  return out;
}

std::map<uint32_t, double> areas(const std::vector<TimeSlice>& slices) {
  std::map<uint32_t, double> out;
  for (const TimeSlice& s : slices) out[s.row] += s.amount * double(s.end - s.begin);
  return out;
}

struct Read {
  int64_t row, begin, end, kind, amount, item;
  auto operator<=>(const Read&) const = default;
};
std::vector<Read> read_chunk(const TimelineChunk& chunk, int64_t bin) {
  auto json = nlohmann::json::parse(chunk.json);
  auto& s = json["slices"];
  std::vector<Read> out;
  for (size_t r = 0, n = 0; r < s["rows"].size(); r += 2) {
    int64_t at = json["first"];
    for (size_t end = n + size_t(s["rows"][r + 1]); n < end; n++) {
      at += s["begin"][n].get<int64_t>() * bin;
      out.push_back({s["rows"][r], at, at + s["length"][n].get<int64_t>() * bin, s["kind"][n], s["amount"][n],
                     s.contains("item") ? s["item"][n].get<int64_t>() : -1});
    }
  }
  CHECK(out.size() == chunk.num_slices);
  return out;
}

}  // namespace

TEST_CASE("timeline: slices that all overlap are not repeated in each chunk") {
  constexpr size_t kSlices = 60000;
  std::vector<TimelineRow> track_rows(kSlices);
  std::vector<TimeSlice> slices;
  for (size_t n = 0; n < kSlices; n++)
    slices.push_back({.row = uint32_t(n), .begin = int64_t(n), .end = 10 * int64_t(kSlices), .item_number = 0});
  size_t written = 0;
  for (const TimelineLevel& level : make_levels(track_rows, slices))
    for (const TimelineChunk& chunk : level.level_chunks) written += chunk.num_slices;
  CHECK(written <= 8 * kSlices);
}

TEST_CASE("timeline: an event takes the first row that is free") {
  profile::ProfileTrace trace;
  auto add = [&](double begin, double end) {
    profile::RangeEvent e;
    e.device = "GPU", e.name = "k", e.begin = begin, e.end = end;
    trace.range_events.push_back(e);
  };
  for (auto [begin, end] : {std::pair(0., 10.), {1., 4.}, {2., 30.}, {4., 5.}, {10., 12.}, {11., 13.}}) add(begin, end);
  std::vector<std::string> names;
  CHECK(make_host_track(trace, names).track_rows.size() == 3);
  for (int n = 0; n < 1000; n++) add(100, 1000 + n);
  CHECK(make_host_track(trace, names).track_rows.size() == 1000);
}

TEST_CASE("timeline: merged slices keep the amounts, end at multiples of the bin, and do not overlap") {
  std::vector<TimeSlice> slices = random_slices(3000, 1);
  for (int64_t bin : {8, 32, 128}) {
    std::vector<TimeSlice> merged = merge_slices(slices, bin);
    CHECK(merged.size() < slices.size());
    for (size_t n = 0; n < merged.size(); n++) {
      CHECK(merged[n].begin % bin == 0);
      CHECK(merged[n].end % bin == 0);
      if (n && merged[n].row == merged[n - 1].row) CHECK(merged[n].begin >= merged[n - 1].end);
    }
    auto before = areas(slices), after = areas(merged);
    for (uint32_t row : {0, 1}) CHECK(after[row] == doctest::Approx(before[row]));
    slices = merged;
  }
}

TEST_CASE("timeline: a bin has the kind that takes most of its time; a long slice stays one slice") {
  std::vector<TimeSlice> slices{{.kind = 1, .begin = 0, .end = 3}, {.kind = 2, .begin = 3, .end = 8},
                            {.kind = 3, .begin = 10, .end = 45, .item_number = 7}};
  std::vector<TimeSlice> merged = merge_slices(slices, 8);
  REQUIRE(merged.size() == 4);
  CHECK(merged[0].kind == 2);
  CHECK(merged[0].amount == 1);
  CHECK(merged[1].begin == 8);
  CHECK(merged[1].amount == doctest::Approx(6.0 / 8));
  CHECK(merged[2].begin == 16);
  CHECK(merged[2].end == 40);
  CHECK(merged[2].kind == 3);
  CHECK(merged[3].amount == doctest::Approx(5.0 / 8));
}

TEST_CASE("timeline: the number of active slices") {
  std::vector<TimeSlice> active =
      count_active_slices({{.begin = 0, .end = 10}, {.begin = 4, .end = 6}, {.row = 1, .begin = 2, .end = 3}});
  REQUIRE(active.size() == 4);
  CHECK(active[1].begin == 4);
  CHECK(active[1].amount == 2);
  CHECK(active[2].amount == 1);
  CHECK(active[2].end == 10);
  CHECK(active[3].row == 1);
}

TEST_CASE("timeline: the chunks of the finest level have all slices, and each chunk those that are active in it") {
  std::vector<TimelineRow> track_rows{{.name = "a", .max_amount = 3}, {.name = "b", .max_amount = 3}};
  std::vector<TimeSlice> slices = random_slices(30000, 2);
  slices.push_back({.row = 1, .begin = 0, .end = 1000000, .item_number = 5});
  std::vector<TimelineLevel> detail_levels = make_levels(track_rows, slices);
  REQUIRE(detail_levels.size() > 3);
  CHECK(detail_levels[0].bin_cycles == 1);
  CHECK(detail_levels[0].level_chunks.size() > 5);
  std::vector<Read> expected, all;
  for (const TimeSlice& s : slices)
    expected.push_back({s.row, s.begin, s.end, s.kind, int64_t(s.amount * 5), int64_t(s.item_number)});
  std::ranges::sort(expected);
  for (const TimelineChunk& c : detail_levels[0].level_chunks) {
    std::vector<Read> read = read_chunk(c, 1);
    std::vector<Read> active;
    for (const Read& r : expected)
      if (r.begin < c.end && r.end > c.begin) active.push_back(r);
    std::ranges::sort(read);
    CHECK(read == active);
    all.insert(all.end(), read.begin(), read.end());
  }
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  CHECK(all == expected);
  for (size_t n = 1; n < detail_levels.size(); n++) {
    size_t finer = 0, coarser = 0;
    for (auto& c : detail_levels[n - 1].level_chunks) finer += c.num_slices;
    for (auto& c : detail_levels[n].level_chunks) coarser += c.num_slices;
    CHECK(coarser < finer);
    CHECK(detail_levels[n].bin_cycles > detail_levels[n - 1].bin_cycles);
  }
}

TEST_CASE("profile tracks: kinds of operations and of assembly") {
  CHECK(kind_of_operation("OTHER_LDS_1") == SliceKind::LocalMemory);
  CHECK(kind_of_operation("SALU_WR_EXEC") == SliceKind::Scalar);
  CHECK(kind_of_operation("VALUT_4") == SliceKind::Transcendental);
  CHECK(kind_of_operation("SGMEM_RD_2") == SliceKind::VectorMemory);
  CHECK(kind_of_operation("0x10") == SliceKind::Other);
  CHECK(kind_of_assembly("s_waitcnt vmcnt(0)", SliceKind::Control) == SliceKind::Wait);
  CHECK(kind_of_assembly("s_clause 0x1", SliceKind::Control) == SliceKind::Control);
}

TEST_CASE("profile tracks: a wave without a packet of its end lasts until the next wave of its place") {
  profile::Profile p;
  p.trace.runs.push_back({.sqtt_events = {0}});
  p.trace.sqtt_events.emplace_back();
  p.sqtt_summaries.emplace_back();
  constexpr uint32_t kCount = 30000;
  for (uint32_t n = 0; n < kCount; n++) p.sqtt_summaries[0].wave_spans.push_back({.begin = 10 * int64_t(n)});
  p.sqtt_summaries[0].wave_spans.push_back({.wave = 1, .end = 50});
  p.sqtt_summaries[0].wave_spans.push_back({.wave = 2, .begin = INT64_MAX - 1});
  p.sqtt_summaries[0].last_time = 10 * kCount;
  TimelineTrack waves = make_trace_tracks(p, 0, {}).waves;
  size_t slices = 0;
  for (const TimelineChunk& c : waves.detail_levels[0].level_chunks)
    for (const Read& r : read_chunk(c, 1)) {
      if (r.row == 0) continue;
      slices++;
      CHECK(r.end - r.begin == (r.item == 1 ? 50 : 10));
    }
  CHECK(slices == kCount + 1);
}

TEST_CASE("profile tracks: the executions on the rows of waves are the hits of the analysis") {
  // tinygrad 0.13.0's viz shows 294 executions for the first trace, too
  for (auto [name, executions] : {std::pair("gfx1100_gemm_run_0", 294), {"gfx1200_gemm_run_1", 448}}) {
    auto trace = profile::read_trace("testdata/profile/" + std::string(name) + ".pkl.gz");
    auto p = profile::analyze_profile(std::move(trace.value_or_throw()), {.num_threads = 1});
    const profile::Profile& found = p.value_or_throw();
    size_t mapped = 0;
    for (size_t event = 0; event < found.trace.sqtt_events.size(); event++) {
      TraceTracks tracks = make_trace_tracks(found, event, {});
      size_t waves = 0;
      for (const TimelineChunk& c : tracks.waves.detail_levels[0].level_chunks)
        for (const Read& r : read_chunk(c, 1)) waves += r.row > 0;
      CHECK(waves == found.sqtt_summaries[event].wave_spans.size());
      const auto& times = found.sqtt_summaries[event].instructions;
      CHECK(tracks.execution_times.size() == times.size());
      if (times.empty()) continue;
      mapped++;
      std::map<int64_t, uint64_t> hits, cycles;
      int of_units = 0;
      for (const TimelineChunk& c : tracks.instructions.detail_levels[0].level_chunks)
        for (const Read& r : read_chunk(c, 1)) {
          if (tracks.instructions.track_rows[size_t(r.row)].drawing_style == "wave")
            hits[r.item]++, cycles[r.item] += uint64_t(r.end - r.begin);
          else of_units++;
        }
      if (event == 0) CHECK(of_units == executions);
      for (size_t n = 0; n < times.size(); n++) {
        CHECK(hits[int64_t(n)] == times[n].num_executions);
        CHECK(nlohmann::json::parse(tracks.execution_times[n])["begin"].size() == times[n].num_executions);
        CHECK(cycles[int64_t(n)] >= times[n].cycles);
        CHECK(cycles[int64_t(n)] <= times[n].cycles + times[n].num_executions);
      }
    }
    CHECK(mapped > 0);
  }
}

}  // namespace tgc
