#include "lib/execute/schedule_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "lib/runtime/contained_device.h"

namespace tgc {
namespace {

// Vector loads of compiled kernels rely on aligned buffers, REF's loads on aligned elements.
constexpr uintptr_t kCompiledAlignment = 64, kRefAlignment = 8;

// Initial values smaller than this are copied, unless mapped from a file: copies are cheap and get guard bytes.
constexpr uint64_t kCopiedBelow = 1 << 20;

// Returns the pages of mapped data to the system after the data was copied.
void drop_pages(const uint8_t* data, uint64_t bytes) {
  auto page = uintptr_t(sysconf(_SC_PAGESIZE)), begin = (reinterpret_cast<uintptr_t>(data) + page - 1) / page * page;
  uintptr_t end = reinterpret_cast<uintptr_t>(data + bytes) / page * page;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace

ScheduleMemory::ScheduleMemory(Device& device, bool is_ref, const Schedule& schedule, const BufferValues& known,
                               const Settings& settings)
    : device_(device), is_ref_(is_ref), plan_(plan_memory(schedule, settings)), places_(schedule.buffers.size()) {
  std::vector<DeviceBuffer> shared;
  for (const SharedBuffer& s : plan_.shared) shared.push_back(allocate(uint64_t(s.size)));
  for (size_t i = 0; i < places_.size(); i++) {
    const ScheduleBuffer& b = schedule.buffers[i];
    if (b.view_of) continue;
    const BufferPlace& planned = plan_.places[i];
    if (auto found = known.find(b.uop); found != known.end()) places_[i] = hold(found->second);
    else if (b.is_input) throw Failure("a buffer has no values");
    else if (planned.shared) places_[i] = shared[*planned.shared].view(uint64_t(planned.offset), uint64_t(b.nbytes()));
    else if (!planned.same_as) places_[i] = allocate(uint64_t(b.nbytes()));
  }
  for (size_t i = 0; i < places_.size(); i++)
    if (auto same = plan_.places[i].same_as; same && places_[i].bytes == 0) places_[i] = places_[*same];
  for (size_t i = 0; i < places_.size(); i++)
    if (const ScheduleBuffer& b = schedule.buffers[i]; b.view_of)
      places_[i] = places_[*b.view_of].view(uint64_t(b.offset), uint64_t(b.nbytes()));
}

ScheduleMemory::~ScheduleMemory() {
  for (const DeviceBuffer& b : owned_) device_.free(b);
}

DeviceBuffer ScheduleMemory::allocate(uint64_t bytes) {
  owned_.push_back(device_.allocate(std::max<uint64_t>(bytes, 1)).value_or_throw());
  return owned_.back().view(0, bytes);
}

DeviceBuffer ScheduleMemory::hold(const HostData& data) {
  auto address = reinterpret_cast<uintptr_t>(data.data);
  bool worth_it = data.mapped || data.bytes >= kCopiedBelow;
  if (worth_it && takes_host_addresses(device_) && address % (is_ref_ ? kRefAlignment : kCompiledAlignment) == 0)
    return {address, 0, data.bytes};
  DeviceBuffer out = allocate(data.bytes);
  constexpr uint64_t kPiece = 16 << 20;  // bytes to copy before mapped pages are dropped, which limits memory use
  for (uint64_t at = 0, size; at < data.bytes; at += size) {
    size = data.mapped ? std::min(kPiece, data.bytes - at) : data.bytes;
    device_.copy_in(out.view(at, size), data.data + at).value_or_throw();
    if (data.mapped) drop_pages(data.data + at, size);
  }
  return out;
}

}  // namespace tgc
