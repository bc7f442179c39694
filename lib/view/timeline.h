// Makes the levels of detail of a timeline. The page draws the finest level of which few enough slices are visible, and
// reads only the chunks of the visible time.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tgc {

// A slice of a row. Times are in cycles; in the host's track, in nanoseconds.
struct TimeSlice {
  static constexpr uint32_t kNoItemNumber = UINT32_MAX;
  uint32_t row = 0;
  uint8_t kind = 0;
  int64_t begin = 0, end = 0;
  uint32_t item_number = kNoItemNumber;  // number of an instruction, a wave slot or a name
  double amount = 1;               // mean busy share of the row, or mean number of waves
};

struct TimelineRow {
  std::string name;
  double max_amount = 1;                    // this amount is drawn with the row's full height
  std::string_view drawing_style = "unit";  // "unit", "wave", "count" or "place" (waves of a SIMD)
};

struct TimelineChunk {
  int64_t begin = 0, end = 0;
  uint32_t num_slices = 0;  // includes slices that begin in an earlier chunk
  std::string json;
};

struct TimelineLevel {
  int64_t bin_cycles = 1;  // slices begin and end at multiples of this number
  std::vector<TimelineChunk> level_chunks;
};

struct TimelineTrack {
  std::string name;
  std::vector<TimelineRow> track_rows;
  std::vector<TimelineLevel> detail_levels;  // the finest level first
};

// Merges slices to bins of the width `bin`. The bins that a slice fills become one slice; the other parts in a bin
// become one slice, with the kind that takes the most time. The results have no item. The sum of amount * (end - begin)
// of each row remains the same. `slices` must be sorted by row and begin, and may not overlap.
std::vector<TimeSlice> merge_slices(const std::vector<TimeSlice>& slices, int64_t bin);

// Returns slices that do not overlap; their amount is how many of `slices` are active in the row, and their kind is
// that of slices[0].
std::vector<TimeSlice> count_active_slices(std::vector<TimeSlice> slices);

// Makes the levels of a track from `finest`, its slices in any order. The coarser levels are made from `merged_from`,
// which is sorted by row and begin, without overlaps; if it is empty, from `finest`, with each slice cut where the next
// one of its row begins.
std::vector<TimelineLevel> make_levels(const std::vector<TimelineRow>& track_rows, std::vector<TimeSlice> finest,
                                       std::vector<TimeSlice> merged_from = {});

}  // namespace tgc
