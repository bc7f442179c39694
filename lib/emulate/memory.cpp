#include "lib/emulate/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "lib/support/counted.h"

namespace tgc::emulate {

namespace {

uint64_t round_up_to_pages(uint64_t bytes) {
  static const auto page = uint64_t(sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

uint64_t mapping_bytes(uint64_t bytes) {
  return round_up_to_pages(bytes) + round_up_to_pages(std::clamp<uint64_t>(bytes, 1 << 16, 1 << 24));
}

void unmap(uint64_t address, uint64_t bytes) { munmap(reinterpret_cast<void*>(address), mapping_bytes(bytes)); }

}  // namespace

GpuMemory::~GpuMemory() {
  for (auto& [address, bytes] : allocation_sizes_) unmap(address, bytes);
}

uint64_t GpuMemory::allocate(uint64_t bytes) {
  std::lock_guard lock(mutex_);
  if (bytes == 0 || bytes > limit_bytes_ - used_bytes_) return 0;
  void* at = mmap(nullptr, mapping_bytes(bytes), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return 0;
  const auto address = reinterpret_cast<uint64_t>(at);
  if (mprotect(at, round_up_to_pages(bytes), PROT_READ | PROT_WRITE) != 0) return unmap(address, bytes), 0;
  used_bytes_ += bytes;
  allocation_sizes_[address] = bytes;
  return address;
}

bool GpuMemory::free(uint64_t address) {
  std::lock_guard lock(mutex_);
  auto found = allocation_sizes_.find(address);
  if (found == allocation_sizes_.end()) return false;
  used_bytes_ -= found->second;
  unmap(address, found->second);
  allocation_sizes_.erase(found);
  return true;
}

bool GpuMemory::contains(uint64_t address, uint64_t bytes) const {
  std::lock_guard lock(mutex_);
  auto after = allocation_sizes_.upper_bound(address);
  if (after == allocation_sizes_.begin()) return false;
  auto& [begin, size] = *--after;
  return address - begin <= size && bytes <= size - (address - begin);
}

std::vector<MemoryRange> GpuMemory::ranges() const {
  std::lock_guard lock(mutex_);
  std::vector<MemoryRange> out;
  for (auto& [address, bytes] : allocation_sizes_) out.push_back({address, address + bytes});
  return out;
}

uint64_t GpuMemory::used_bytes() const {
  std::lock_guard lock(mutex_);
  return used_bytes_;
}

const MemoryRange* RecentRanges::search_ranges(const std::vector<MemoryRange>& ranges, MemoryRange& recent_range,
                                               uint64_t from, uint64_t to) {
  auto after = std::ranges::upper_bound(ranges, from, {}, &MemoryRange::begin);
  if (after == ranges.begin() || !std::prev(after)->contains(from, to)) return nullptr;
  return &(recent_range = *std::prev(after));
}

const char* access_verb(Access access) {
  return access == Access::Load ? "reads" : access == Access::Store ? "stores" : "changes";
}

std::string hex_text(uint64_t v) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", (unsigned long long)v);
  return text;
}

std::string location_text(const std::vector<MemoryRange>& ranges, std::span<const std::byte> arguments, uint64_t from,
                          uint64_t to) {
  constexpr uint64_t kFar = uint64_t(1) << 30;
  const MemoryRange* nearest = nullptr;
  uint64_t distance = UINT64_MAX;
  for (const MemoryRange& r : ranges) {
    uint64_t away = from >= r.end ? from - r.end : to <= r.begin ? r.begin - to : 0;
    if (away < distance) nearest = &r, distance = away;
  }
  if (!nearest || distance > kFar) return "far from every allocation";
  std::string whole = "the " + count_text(nearest->end - nearest->begin, "byte") + " ";
  size_t number = 0, count = arguments.size() / sizeof(uint64_t);
  auto is_its = [&](size_t n) {
    return std::memcmp(arguments.data() + n * sizeof(uint64_t), &nearest->begin, sizeof(uint64_t)) == 0;
  };
  while (number < count && !is_its(number)) number++;
  whole += number < count ? "of argument " + std::to_string(number) : "of an allocation";
  if (from < nearest->begin) return count_text(nearest->begin - from, "byte") + " before " + whole;
  if (from < nearest->end) return "across the end of " + whole;
  return (from == nearest->end ? "right" : count_text(from - nearest->end, "byte")) + " behind " + whole;
}

}  // namespace tgc::emulate
