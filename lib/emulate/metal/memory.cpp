#include "lib/emulate/metal/memory.h"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace tgc::metal {
namespace {

constexpr uint16_t kSeveral = UINT16_MAX;

std::string count(uint64_t n) { return std::to_string(n) + (n == 1 ? " byte" : " bytes"); }

}  // namespace

Memory::Memory(const std::vector<Range>& ranges, bool check_races) : check_races_(check_races) {
  for (const Range& r : ranges)
    if (r.bytes)
      ranges_.push_back({.name = r.name, .begin = r.begin, .bytes = r.bytes, .is_watched = check_races,
                         .cells = make_cells(r.bytes)});
}

// Zeros, of which pages come as they are touched.
Memory::Cells Memory::make_cells(uint64_t bytes) const {
  if (!check_races_) return {nullptr, std::free};
  auto* cells = static_cast<Cell*>(std::calloc(bytes, sizeof(Cell)));
  if (!cells) throw std::bad_alloc();
  return {cells, std::free};
}

void* Memory::threadgroup(uint32_t number, uint64_t bytes, const char* name) {
  if (number >= threadgroup_.size()) threadgroup_.resize(number + 1);
  if (!threadgroup_[number]) {
    if (bytes > kMostThreadgroupBytes - threadgroup_bytes_) return nullptr;
    threadgroup_bytes_ += bytes;
    Watched made{.name = name, .bytes = bytes, .is_threadgroup = true, .is_watched = true, .cells = make_cells(bytes)};
    made.own = std::make_unique<uint8_t[]>(bytes + 16);
    made.begin = (reinterpret_cast<uint64_t>(made.own.get()) + 15) / 16 * 16;
    made.stored.resize(bytes);
    ranges_.push_back(std::move(made));
    threadgroup_[number] = ranges_.size();
  }
  return reinterpret_cast<void*>(ranges_[threadgroup_[number] - 1].begin);
}

bool Memory::find(const Access& a) {
  for (size_t i = 0; i < ranges_.size(); i++)
    if (ranges_[i].holds(a)) return recent_ = i, true;
  return false;
}

std::string Memory::race(Watched& range, const Access& a, uint32_t thread) {
  auto me = uint16_t(thread + 1);
  for (uint64_t i = a.address - range.begin, end = i + a.bytes; i < end; i++) {
    Cell& c = range.cells[i];
    if (c.phase != phase_) c = {phase_, 0, 0};
    if (c.writer && c.writer != me)
      return std::string(a.stores ? "stores" : "reads") + " what thread " + std::to_string(c.writer - 1) +
             " stores with no barrier between, in " + range.name + " at byte " + std::to_string(i);
    if (a.stores && c.reader && c.reader != me)
      return "stores what " +
             (c.reader == kSeveral ? "other threads read" : "thread " + std::to_string(c.reader - 1) + " reads") +
             " with no barrier between, in " + range.name + " at byte " + std::to_string(i);
    if (a.stores) c.writer = me;
    else c.reader = c.reader == 0 || c.reader == me ? me : kSeveral;
  }
  return {};
}

std::string Memory::watch(const Access& a, uint32_t thread) {
  Watched& range = ranges_[recent_];
  if (range.is_threadgroup) {
    auto first = range.stored.begin() + long(a.address - range.begin), last = first + a.bytes;
    if (a.stores) std::fill(first, last, group_);
    else if (auto never = std::find_if(first, last, [&](uint32_t g) { return g != group_; }); never != last)
      return "reads threadgroup memory that no thread of the group has stored, " + range.name + " at byte " +
             std::to_string(never - range.stored.begin());
  }
  return check_races_ ? race(range, a, thread) : std::string();
}

std::string Memory::place_of(const Access& a) const {
  const Watched* nearest = nullptr;
  uint64_t distance = 0;
  bool is_before = false;
  for (const Watched& r : ranges_) {
    bool before = a.address < r.begin;
    uint64_t d = before ? r.begin - a.address : a.address - std::min(a.address, r.begin + r.bytes);
    if (!nearest || d < distance) nearest = &r, distance = d, is_before = before;
  }
  constexpr uint64_t kNear = 1 << 20;
  if (!nearest || distance > kNear) return "far from every buffer";
  return (is_before ? count(distance) + " before the beginning of " : distance ? count(distance) + " after the end of "
                                                                              : "at the end of ") +
         nearest->name + " (" + count(nearest->bytes) + ")";
}

}  // namespace tgc::metal
