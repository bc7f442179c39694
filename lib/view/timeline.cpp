#include "lib/view/timeline.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "lib/support/json_writer.h"

namespace tgc {
namespace {

constexpr int64_t kLevelFactor = 4;
constexpr uint32_t kSlicesPerChunk = 8192;   // usual number of slices that begin in a chunk
constexpr size_t kMostCoarsestSlices = 2000;  // a level with at most this many slices is the last
constexpr double kMostSliceRatio = 0.5;       // maximum number of slices of a level, relative to the next finer level
constexpr int kMaxStoredAmount = 15;        // amounts are stored as 0 to 15; 15 is TimelineRow::max_amount
constexpr size_t kNumKinds = 32;

bool precedes_in_track(const TimeSlice& a, const TimeSlice& b) {
  return a.row != b.row ? a.row < b.row : a.begin < b.begin;
}

class SliceBin {
 public:
  SliceBin(int64_t size, std::vector<TimeSlice>& out) : bin_cycles_(size), merged_slices_(out) {}
  void add(const TimeSlice& s, int64_t begin, int64_t end) {
    int64_t at = begin / bin_cycles_ - (begin % bin_cycles_ < 0);
    if (slice_row_ != s.row || bin_number_ != at) flush();
    slice_row_ = s.row, bin_number_ = at, is_open_ = true;
    cycles_by_kind_[s.kind % kNumKinds] += end - begin;
    amount_sum_ += s.amount * double(end - begin);
  }
  void flush() {
    if (is_open_) {
      auto kind = std::ranges::max_element(cycles_by_kind_) - cycles_by_kind_.begin();
      merged_slices_.push_back({.row = slice_row_,
                                .kind = uint8_t(kind),
                                .begin = bin_number_ * bin_cycles_,
                                .end = (bin_number_ + 1) * bin_cycles_,
                                .amount = amount_sum_ / double(bin_cycles_)});
    }
    cycles_by_kind_.fill(0), amount_sum_ = 0, is_open_ = false;
  }

 private:
  int64_t bin_cycles_;
  std::vector<TimeSlice>& merged_slices_;
  std::array<int64_t, kNumKinds> cycles_by_kind_{};
  double amount_sum_ = 0;
  uint32_t slice_row_ = 0;
  int64_t bin_number_ = 0;
  bool is_open_ = false;
};

void cut_overlaps(std::vector<TimeSlice>& slices) {
  for (size_t n = 0; n + 1 < slices.size(); n++)
    if (slices[n].row == slices[n + 1].row) slices[n].end = std::min(slices[n].end, slices[n + 1].begin);
  std::erase_if(slices, [](const TimeSlice& s) { return s.end <= s.begin; });
}

std::string chunk_json(const std::vector<TimelineRow>& rows, std::vector<TimeSlice>& slices, int64_t begin,
                       int64_t bin) {
  std::ranges::stable_sort(slices, precedes_in_track);
  std::vector<int64_t> counts, begins, lengths, kinds, amounts, items;
  bool has_items = false;
  int64_t last = 0;
  for (size_t n = 0; n < slices.size(); n++) {
    const TimeSlice& s = slices[n];
    if (!n || slices[n - 1].row != s.row) counts.insert(counts.end(), {int64_t(s.row), 0}), last = begin;
    counts.back()++;
    begins.push_back((s.begin - last) / bin), lengths.push_back((s.end - s.begin) / bin), kinds.push_back(s.kind);
    double share = std::clamp(s.amount / rows[s.row].max_amount, 0.0, 1.0);
    amounts.push_back(int64_t(std::ceil(share * kMaxStoredAmount)));
    items.push_back(s.item_number == TimeSlice::kNoItemNumber ? -1 : int64_t(s.item_number));
    has_items |= s.item_number != TimeSlice::kNoItemNumber;
    last = s.begin;
  }
  return json_object([&](JsonWriter& json) {
    json.member("rows", counts).member("begin", begins).member("length", lengths).member("kind", kinds);
    json.member("amount", amounts);
    if (has_items) json.member("item", items);
  });
}

TimelineLevel make_level(const std::vector<TimelineRow>& rows, std::vector<TimeSlice> slices, int64_t bin) {
  std::ranges::stable_sort(slices, {}, &TimeSlice::begin);
  TimelineLevel out{.bin_cycles = bin, .level_chunks = {}};
  std::vector<TimeSlice> chunk;
  for (size_t n = 0; n < slices.size();) {
    const int64_t begin = slices[n].begin;
    std::erase_if(chunk, [&](const TimeSlice& s) { return s.end <= begin; });
    // At least as many slices begin in a chunk as continue from the previous one. Then long slices, which are stored in
    // several chunks, at most double the number of stored slices.
    size_t end = std::min(n + std::max<size_t>(kSlicesPerChunk, chunk.size()), slices.size());
    while (end < slices.size() && slices[end].begin == slices[end - 1].begin) end++;
    chunk.insert(chunk.end(), slices.begin() + ptrdiff_t(n), slices.begin() + ptrdiff_t(end));
    int64_t until = end < slices.size() ? slices[end].begin : begin;
    if (end == slices.size())
      for (const TimeSlice& s : chunk) until = std::max(until, s.end);
    // times are relative to the begin of the earliest slice
    int64_t first = begin;
    for (const TimeSlice& s : chunk) first = std::min(first, s.begin);
    first -= first % bin;
    TimelineChunk made{.begin = begin, .end = until, .num_slices = uint32_t(chunk.size()), .json = {}};
    made.json = "{\"first\":" + std::to_string(first) + ",\"slices\":" + chunk_json(rows, chunk, first, bin) + "}";
    out.level_chunks.push_back(std::move(made));
    n = end;
  }
  return out;
}

}  // namespace

std::vector<TimeSlice> merge_slices(const std::vector<TimeSlice>& slices, int64_t bin) {
  std::vector<TimeSlice> out;
  SliceBin open(bin, out);
  for (const TimeSlice& s : slices) {
    auto floor = [&](int64_t t) { return t - ((t % bin) + bin) % bin; };
    int64_t from = s.begin == floor(s.begin) ? s.begin : floor(s.begin) + bin, to = floor(s.end);
    if (from >= to) {
      int64_t middle = std::clamp(from, s.begin, s.end);
      if (s.begin < middle) open.add(s, s.begin, middle);
      if (middle < s.end) open.add(s, middle, s.end);
      continue;
    }
    if (s.begin < from) open.add(s, s.begin, from);
    open.flush();
    out.push_back({.row = s.row, .kind = s.kind, .begin = from, .end = to, .amount = s.amount});
    if (to < s.end) open.add(s, to, s.end);
  }
  open.flush();
  return out;
}

std::vector<TimeSlice> count_active_slices(std::vector<TimeSlice> slices) {
  std::map<std::pair<uint32_t, int64_t>, int64_t> changes;
  for (const TimeSlice& s : slices)
    if (s.begin < s.end) changes[{s.row, s.begin}]++, changes[{s.row, s.end}]--;
  uint8_t kind = slices.empty() ? 0 : slices[0].kind;
  std::vector<TimeSlice> out;
  int64_t active = 0;
  for (auto at = changes.begin(); at != changes.end(); ++at) {
    auto next = std::next(at);
    active += at->second;
    if (active > 0 && next != changes.end())
      out.push_back({.row = at->first.first, .kind = kind, .begin = at->first.second, .end = next->first.second,
                     .amount = double(active)});
  }
  return out;
}

std::vector<TimelineLevel> make_levels(const std::vector<TimelineRow>& rows, std::vector<TimeSlice> finest,
                                       std::vector<TimeSlice> merged_from) {
  std::vector<TimelineLevel> out;
  std::ranges::stable_sort(finest, precedes_in_track);
  if (merged_from.empty()) {
    merged_from = finest;
    cut_overlaps(merged_from);
  }
  size_t count = finest.size();
  out.push_back(make_level(rows, std::move(finest), 1));
  int64_t span = out[0].level_chunks.empty() ? 0 : out[0].level_chunks.back().end - out[0].level_chunks[0].begin;
  for (int64_t bin = kLevelFactor; count > kMostCoarsestSlices && bin <= span / kLevelFactor; bin *= kLevelFactor) {
    std::vector<TimeSlice> merged = merge_slices(merged_from, bin);
    if (double(merged.size()) > kMostSliceRatio * double(count)) continue;
    count = merged.size();
    out.push_back(make_level(rows, merged, bin));
    merged_from = std::move(merged);
  }
  return out;
}

}  // namespace tgc
