// Levels of detail of a timeline: a page draws a trace of millions of slices from the level whose slices are about as
// wide as a pixel, and reads only the chunks that it shows.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tgc {

// A part of a row's time.
struct TimeSlice {
  static constexpr uint32_t kNoItem = UINT32_MAX;
  uint32_t row = 0;
  uint8_t kind = 0;
  int64_t begin = 0, end = 0;
  uint32_t item = kNoItem;  // what the slice shows: an instruction, the place of a wave, or a name
  double amount = 1;        // mean over the slice: the busy share of a unit, or the number of waves
};

struct TimelineRow {
  std::string name;
  double most = 1;      // the amount that fills the row
  std::string_view style = "unit";  // how the page draws it: "unit", "wave", "count", or "place" (of waves)
};

struct TimelineChunk {
  int64_t begin = 0, end = 0;
  uint32_t count = 0;  // slices, including those that begin in an earlier chunk
  std::string json;
};

struct TimelineLevel {
  int64_t bin = 1;  // slices begin and end at multiples of it
  std::vector<TimelineChunk> chunks;
};

struct Track {
  std::string name;
  std::vector<TimelineRow> rows;
  std::vector<TimelineLevel> levels;  // the finest first
};

// Returns the slices with all details shorter than `bin` merged: each bin with such details becomes one slice, of the
// kind that takes most of its time, without an item. The sum of amount * (end - begin) of each row stays the same. The
// slices of a row are in the order of their beginnings and do not overlap; the rows are in order, too.
std::vector<TimeSlice> merge_slices(const std::vector<TimeSlice>& slices, int64_t bin);

// Returns the number of slices that are active at each time, as slices that do not overlap.
std::vector<TimeSlice> count_active(std::vector<TimeSlice> slices);

// Makes the levels of a track from its finest slices, in any order. `merged_from`: the slices without overlaps from
// which the other levels are made; empty: the finest slices, whose overlaps are cut.
std::vector<TimelineLevel> make_levels(const std::vector<TimelineRow>& rows, std::vector<TimeSlice> finest,
                                       std::vector<TimeSlice> merged_from = {});

}  // namespace tgc
