#include "lib/emulate/metal/memory.h"

#include <algorithm>

#include "lib/support/counted.h"

namespace tgc::metal {

GpuMemory::GpuMemory(const std::vector<MemoryRange>& ranges, bool check_races) : checks_races_(check_races) {
  for (const MemoryRange& r : ranges)
    if (r.bytes) ranges_.push_back({.name = r.name, .begin = r.begin, .bytes = r.bytes});
}

void* GpuMemory::threadgroup_array(uint32_t number, uint64_t bytes, const char* name) {
  if (number >= threadgroup_ranges_.size()) threadgroup_ranges_.resize(number + 1);
  if (!threadgroup_ranges_[number]) {
    if (bytes > kMaxThreadgroupBytes - threadgroup_bytes_) return nullptr;
    threadgroup_bytes_ += bytes;
    KnownRange made{.name = name, .bytes = bytes, .is_threadgroup = true};
    made.allocation = std::make_unique<uint8_t[]>(bytes + 16);
    made.begin = (reinterpret_cast<uint64_t>(made.allocation.get()) + 15) / 16 * 16;
    made.storing_groups.resize(bytes);
    ranges_.push_back(std::move(made));
    threadgroup_ranges_[number] = ranges_.size();
  }
  return reinterpret_cast<void*>(ranges_[threadgroup_ranges_[number] - 1].begin);
}

bool GpuMemory::find_range(const MemoryAccess& a) {
  for (size_t i = 0; i < ranges_.size(); i++)
    if (ranges_[i].contains_access(a)) return recent_range_ = i, true;
  return false;
}

std::optional<uint64_t> GpuMemory::first_unstored_byte(const MemoryAccess& a) {
  KnownRange& range = ranges_[recent_range_];
  if (!range.is_threadgroup) return {};
  auto first = range.storing_groups.begin() + long(a.address - range.begin), last = first + a.bytes;
  if (a.is_store) return std::fill(first, last, group_number_), std::nullopt;
  auto never = std::find_if(first, last, [&](uint32_t g) { return g != group_number_; });
  return never == last ? std::optional<uint64_t>() : a.address + uint64_t(never - first);
}

std::optional<RaceDetector::DataRace> GpuMemory::race(const MemoryAccess& a, uint32_t thread, uint32_t instruction) {
  if (!checks_races_) return {};
  auto access = a.is_store ? emulate::Access::Store : emulate::Access::Load;
  return race_detector_.note_access(a.address, a.bytes,
                                    {.instruction = instruction, .thread = uint16_t(thread), .access = access});
}

std::string GpuMemory::describe_address(uint64_t address) const {
  return ranges_[recent_range_].name + " at byte " + std::to_string(address - ranges_[recent_range_].begin);
}

std::string GpuMemory::describe_out_of_range(const MemoryAccess& a) const {
  const KnownRange* nearest = nullptr;
  uint64_t distance = 0;
  bool is_before = false;
  for (const KnownRange& r : ranges_) {
    bool before = a.address < r.begin;
    uint64_t d = before ? r.begin - a.address : a.address - std::min(a.address, r.begin + r.bytes);
    if (!nearest || d < distance) nearest = &r, distance = d, is_before = before;
  }
  constexpr uint64_t kNear = 1 << 20;
  if (!nearest || distance > kNear) return "far from every buffer";
  const std::string away = count_text(distance, "byte");
  std::string where = is_before ? away + " before the beginning of "
                      : distance ? away + " after the end of "
                                 : "at the end of ";
  return where + nearest->name + " (" + count_text(nearest->bytes, "byte") + ")";
}

}  // namespace tgc::metal
