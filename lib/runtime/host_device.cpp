#include "lib/runtime/host_device.h"

#include <sys/mman.h>
#include <unistd.h>
#include <algorithm>
#include <cstring>
#include <utility>

#include "lib/runtime/array.h"
#include "lib/support/counted.h"
#include "lib/support/sanitized.h"

namespace tgc {

Result<DeviceBuffer> HostDevice::allocate(uint64_t bytes) {
  return catch_failures([&] {
    GuardedMemory memory{size_t(bytes)};
    auto handle = reinterpret_cast<uint64_t>(memory.data());
    memory_blocks_.emplace(handle, std::move(memory));
    return DeviceBuffer{handle, 0, bytes};
  });
}

Status HostDevice::check_guards(const DeviceBuffer& buffer) const {
  auto found = memory_blocks_.find(buffer.handle);
  std::string damage = found == memory_blocks_.end() ? "" : found->second.damage_text();
  return damage.empty() ? Status(Unit{}) : Diag{damage};
}

Status HostDevice::check_all_guards() const {
  for (auto& [handle, memory] : memory_blocks_)
    if (std::string damage = memory.damage_text(); !damage.empty())
      return Diag{"a kernel " + damage + " of a buffer of " + std::to_string(memory.size()) + " bytes"};
  return Unit{};
}

Status HostDevice::copy_in(const DeviceBuffer& to, const void* from) {
  if (to.bytes) std::memcpy(address(to), from, to.bytes);
  return Unit{};
}

Status HostDevice::copy_out(void* to, const DeviceBuffer& from) {
  if (from.bytes) std::memcpy(to, address(from), from.bytes);
  return Unit{};
}

namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kGuard = 1 << 16;  // bytes of a guard; a multiple of the usual page sizes
constexpr uint8_t kPattern = 0xC5;

size_t page_size() {
  static const auto size = size_t(sysconf(_SC_PAGESIZE));
  return size;
}

bool is_guard_pattern(const uint8_t* from, size_t bytes) {
  return bytes == 0 || (from[0] == kPattern && std::memcmp(from, from + 1, bytes - 1) == 0);
}

std::string overwrite_text(size_t n, const char* where) {
  return "wrote " + count_text(n, "byte") + where;
}

// Returns the address of the first guard; null if memory runs out.
uint8_t* map_between_guards(size_t bytes) {
  void* p = mmap(nullptr, bytes + 2 * kGuard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return nullptr;
  if (mprotect(static_cast<uint8_t*>(p) + kGuard, bytes, PROT_READ | PROT_WRITE) == 0) return static_cast<uint8_t*>(p);
  munmap(p, bytes + 2 * kGuard);
  return nullptr;
}

// Mappings with one page between the guards, which the thread reuses: mapping and unmapping a page takes longer than
// most REF kernels.
struct SpareMappings {
  // no reuse under a sanitizer, so that it finds use after free
  static constexpr size_t kMaxMappings = kIsSanitized ? 0 : 16;
  uint8_t* mappings[std::max<size_t>(kMaxMappings, 1)];
  size_t count = 0;
  bool is_thread_ending = false;
};
thread_local SpareMappings spare;
struct SpareMappingsCleaner {
  ~SpareMappingsCleaner() {
    spare.is_thread_ending = true;
    while (spare.count) munmap(spare.mappings[--spare.count], page_size() + 2 * kGuard);
  }
};

uint8_t* map_guarded(size_t bytes) {
  if (bytes != page_size() || spare.count == 0) return map_between_guards(bytes);
  uint8_t* out = spare.mappings[--spare.count];
  std::memset(out + kGuard, 0, bytes);
  return out;
}
void unmap_guarded(uint8_t* mapping, size_t bytes) {
  static thread_local SpareMappingsCleaner at_end;
  bool is_kept = bytes == page_size() && spare.count < SpareMappings::kMaxMappings && !spare.is_thread_ending;
  if (is_kept) spare.mappings[spare.count++] = mapping;
  else munmap(mapping, bytes + 2 * kGuard);
}

}  // namespace

GuardedMemory::GuardedMemory(size_t bytes) : size_bytes_(bytes) {
  size_t page = page_size(), inside = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  size_t pages = (std::max<size_t>(inside, 1) + page - 1) / page * page;
  mapped_bytes_ = pages + 2 * kGuard;
  bool fits = inside >= bytes && pages >= inside && mapped_bytes_ > pages;
  memory_mapping_ = fits ? map_guarded(pages) : nullptr;
  if (!memory_mapping_) throw Failure("not enough memory for an array of " + bytes_text(bytes));
  uint8_t *begin = memory_mapping_ + kGuard, *end = begin + pages;
  data_ = end - inside;
  std::memset(begin, kPattern, size_t(data_ - begin));
  std::memset(data_ + bytes, kPattern, size_t(end - data_) - bytes);
}

GuardedMemory::GuardedMemory(GuardedMemory&& other) noexcept
    : memory_mapping_(std::exchange(other.memory_mapping_, nullptr)),
      mapped_bytes_(other.mapped_bytes_),
      data_(other.data_),
      size_bytes_(other.size_bytes_) {}

GuardedMemory::~GuardedMemory() {
  if (memory_mapping_) unmap_guarded(memory_mapping_, mapped_bytes_ - 2 * kGuard);
}

std::string GuardedMemory::damage_text() const {
  const uint8_t *begin = memory_mapping_ + kGuard, *end = memory_mapping_ + mapped_bytes_ - kGuard,
                *after = data_ + size_bytes_;
  if (!is_guard_pattern(after, size_t(end - after))) {
    const uint8_t* last = end;
    while (last[-1] == kPattern) last--;
    return overwrite_text(size_t(last - after), " after the end");
  }
  if (!is_guard_pattern(begin, size_t(data_ - begin))) {
    const uint8_t* first =
        std::find_if(begin, static_cast<const uint8_t*>(data_), [](uint8_t b) { return b != kPattern; });
    return overwrite_text(size_t(data_ - first), " before the beginning");
  }
  return {};
}

}  // namespace tgc
