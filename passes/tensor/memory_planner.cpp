#include "passes/tensor/memory_planner.h"

#include <algorithm>
#include <bit>
#include <tuple>

#include "lib/support/result.h"

namespace tgc {

namespace {

constexpr int64_t kPageBytes = 0x1000;
int64_t round_up_to_page(int64_t v) { return (v + kPageBytes - 1) / kPageBytes * kPageBytes; }

// Returns true if the device supports buffers that are parts of other buffers (tinygrad: its allocator has `_offset`).
bool supports_subbuffers(std::string_view device) {
  std::string_view name = device.substr(0, device.find(':'));
  for (std::string_view without : {"CL", "HIP", "NPY", "PYTHON", "WEBGPU"})
    if (name == without) return false;
  return true;
}

class MemoryPlanner {
 public:
  explicit MemoryPlanner(const Schedule& schedule)
      : schedule_(schedule), first_use_(schedule.buffers.size(), -1), last_use_(schedule.buffers.size(), -1) {
    plan_.buffer_places.resize(schedule_.buffers.size());
  }

  MemoryPlan make_plan() {
    find_lifetimes();
    for (size_t b : planned_buffers_)
      address_range_bytes_ +=
          2 * round_up_to_page(schedule_.buffers[b].nbytes());  // factor 2 leaves room for fragmentation
    for (auto [time, is_begin, b] : lifetime_events()) place_buffer(b, is_begin);
    for (auto& [device, planner] : device_memories_)
      plan_.shared_buffers[planner.shared_index].size_bytes = round_up_to_page(planner.peak_bytes);
    place_views();
    return std::move(plan_);
  }

 private:
  struct DeviceMemory {
    explicit DeviceMemory(int64_t size) : allocator(size, kPageBytes, 32) {}
    TlsfAllocator allocator;
    int64_t peak_bytes = 0;
    size_t shared_index = 0;
  };

  size_t root_buffer_of(size_t b) const { return schedule_.buffers[b].view_of.value_or(b); }

  // Inputs and outputs outlive the schedule. Copies with separate buffers can overlap kernels.
  std::vector<bool> find_separate_buffers() const {
    std::vector<bool> is_separate(schedule_.buffers.size());
    for (size_t b = 0; b < is_separate.size(); b++)
      if (schedule_.buffers[b].is_input || schedule_.buffers[b].is_output) is_separate[root_buffer_of(b)] = true;
    for (auto& item : schedule_.items)
      if (!item.ast.is(Op::SINK))
        for (size_t b : item.buffers) is_separate[b] = is_separate[root_buffer_of(b)] = true;
    return is_separate;
  }

  void find_lifetimes() {
    const auto is_separate = find_separate_buffers();
    for (size_t i = 0; i < schedule_.items.size(); i++)
      for (size_t b : schedule_.items[i].buffers) {
        b = root_buffer_of(b);
        if (is_separate[b]) continue;
        if (first_use_[b] < 0) first_use_[b] = int64_t(i), planned_buffers_.push_back(b);
        last_use_[b] = int64_t(i);
      }
  }

  // The begin or end of a buffer's lifetime: (time, is_begin, buffer). Sorted by time; at equal times, ends come first.
  using LifetimeEvent = std::tuple<int64_t, bool, size_t>;
  std::vector<LifetimeEvent> lifetime_events() const {
    std::vector<LifetimeEvent> out;
    for (size_t b : planned_buffers_) out.emplace_back(first_use_[b], true, b);
    for (size_t b : planned_buffers_) out.emplace_back(last_use_[b] + 1, false, b);
    std::stable_sort(out.begin(), out.end(), [](const LifetimeEvent& x, const LifetimeEvent& y) {
      return std::tie(std::get<0>(x), std::get<1>(x)) < std::tie(std::get<0>(y), std::get<1>(y));
    });
    return out;
  }

  void place_buffer(size_t b, bool is_begin) {
    const ScheduleBuffer& buffer = schedule_.buffers[b];
    if (supports_subbuffers(buffer.device) && !buffer.dtype.is_image()) place_in_shared_buffer(b, is_begin);
    else reuse_whole_buffer(b, is_begin);
  }

  void place_in_shared_buffer(size_t b, bool is_begin) {
    const ScheduleBuffer& buffer = schedule_.buffers[b];
    auto it = device_memories_.find(buffer.device);
    if (it == device_memories_.end()) {
      it = device_memories_.emplace(buffer.device, DeviceMemory(address_range_bytes_)).first;
      it->second.shared_index = plan_.shared_buffers.size();
      plan_.shared_buffers.push_back({buffer.device});
    }
    DeviceMemory& device = it->second;
    BufferPlace& at = plan_.buffer_places[b];
    if (is_begin) at = {device.shared_index, device.allocator.allocate(round_up_to_page(buffer.nbytes()))};
    else device.allocator.free(at.offset_bytes);
    device.peak_bytes = std::max(device.peak_bytes, at.offset_bytes + buffer.nbytes());
  }

  // Handles an event of a buffer that cannot be part of a shared buffer: reuses whole buffers of the same device, dtype
  // and size.
  void reuse_whole_buffer(size_t b, bool is_begin) {
    const ScheduleBuffer& buffer = schedule_.buffers[b];
    auto& unused = unused_buffers_[{buffer.device, std::string(buffer.dtype.repr()), buffer.nbytes()}];
    if (!is_begin) {
      unused.push_back(plan_.buffer_places[b].reused_buffer.value_or(b));
    } else if (!unused.empty()) {
      plan_.buffer_places[b].reused_buffer = unused.back();
      unused.pop_back();
    }
  }

  void place_views() {
    for (size_t b = 0; b < schedule_.buffers.size(); b++)
      if (schedule_.buffers[b].view_of) plan_.buffer_places[b] = plan_.buffer_places[root_buffer_of(b)];
  }

  const Schedule& schedule_;
  MemoryPlan plan_;
  std::vector<int64_t> first_use_,
      last_use_;  // for each buffer, the first and last item that use it; -1 if not planned
  std::vector<size_t> planned_buffers_;        // numbers of the planned buffers, in order of first use
  int64_t address_range_bytes_ = 0;                  // size in bytes of each allocator's address range
  std::map<std::string, DeviceMemory> device_memories_;
  std::map<std::tuple<std::string, std::string, int64_t>, std::vector<size_t>> unused_buffers_;
};

void count_bytes(const Schedule& schedule, MemoryPlan& plan) {
  for (size_t b = 0; b < schedule.buffers.size(); b++) {
    const ScheduleBuffer& buffer = schedule.buffers[b];
    if (buffer.view_of) continue;
    const BufferPlace& place = plan.buffer_places[b];
    plan.total_bytes_before += buffer.nbytes();
    if (place.shared_index || place.reused_buffer) plan.planned_bytes_before += buffer.nbytes();
    else plan.total_bytes_after += buffer.nbytes();
  }
  for (const SharedBuffer& shared : plan.shared_buffers) plan.planned_bytes_after += shared.size_bytes;
  plan.total_bytes_after += plan.planned_bytes_after;
}

}  // namespace

MemoryPlan plan_memory(const Schedule& schedule, const Settings& settings) {
  MemoryPlan plan;
  if (settings.NO_MEMORY_PLANNER) plan.buffer_places.resize(schedule.buffers.size());
  else plan = MemoryPlanner(schedule).make_plan();
  count_bytes(schedule, plan);
  return plan;
}

namespace {

int bit_length(int64_t v) { return int(std::bit_width(uint64_t(v))); }

}  // namespace

TlsfAllocator::TlsfAllocator(int64_t size, int64_t block_size, int second_level_count)
    : block_size_(block_size),
      second_level_bits_(bit_length(second_level_count)),
      free_blocks_(size_t(bit_length(size)) + 1),
      free_block_counts_(free_blocks_.size()) {
  for (auto& level : free_blocks_) level.resize(size_t(1) << second_level_bits_);
  tlsf_blocks_[0] = {size, kNoBlock, kNoBlock, true};
  if (size > 0) insert_free_block(0, size, kNoBlock);
}

std::vector<int64_t>& TlsfAllocator::free_list_of(int64_t size) {
  int first = bit_length(size);
  int64_t second = (size - (int64_t(1) << (first - 1))) >> std::max(0, first - second_level_bits_);
  return free_blocks_[size_t(first)][size_t(second)];
}

void TlsfAllocator::insert_free_block(int64_t start, int64_t size, int64_t previous) {
  free_list_of(size).push_back(start);
  free_block_counts_[size_t(bit_length(size))]++;
  tlsf_blocks_[start] = {size, start + size, previous, true};
}

void TlsfAllocator::remove_free_block(int64_t start) {
  TlsfBlock& block = tlsf_blocks_.at(start);
  auto& list = free_list_of(block.size);
  list.erase(std::find(list.begin(), list.end(), start));
  free_block_counts_[size_t(bit_length(block.size))]--;
  block.is_free = false;
}

void TlsfAllocator::set_previous_block(int64_t next, int64_t start) {
  if (auto it = tlsf_blocks_.find(next); it != tlsf_blocks_.end()) it->second.previous = start;
}

void TlsfAllocator::split_block(int64_t start, int64_t size) {
  TlsfBlock whole = tlsf_blocks_.at(start);
  TGC_CHECK(whole.is_free, "a block that is split must be free");
  remove_free_block(start);
  insert_free_block(start, size, whole.previous);
  insert_free_block(start + size, whole.size - size, start);
  set_previous_block(whole.next, start + size);
}

void TlsfAllocator::merge_block(int64_t start) {
  for (int64_t p = tlsf_blocks_.at(start).previous; p != kNoBlock && tlsf_blocks_.at(p).is_free;
       p = tlsf_blocks_.at(p).previous)
    start = p;
  for (auto next = tlsf_blocks_.find(tlsf_blocks_.at(start).next); next != tlsf_blocks_.end() && next->second.is_free;
       next = tlsf_blocks_.find(tlsf_blocks_.at(start).next)) {
    TlsfBlock block = tlsf_blocks_.at(start);
    int64_t added = next->second.size;
    remove_free_block(start);
    remove_free_block(next->first);
    tlsf_blocks_.erase(next);
    insert_free_block(start, block.size + added, block.previous);
  }
  set_previous_block(tlsf_blocks_.at(start).next, start);
}

int64_t TlsfAllocator::allocate(int64_t asked) {
  asked = std::max(block_size_, asked);
  // round up to the lower bound of a list, so that any block of that list is large enough
  int64_t step = int64_t(1) << std::max(0, bit_length(asked) - second_level_bits_);
  int64_t size = (asked + step - 1) / step * step;
  auto first = size_t(bit_length(size));
  for (size_t l1 = first; l1 < free_blocks_.size(); l1++) {
    if (free_block_counts_[l1] == 0) continue;
    size_t l2 =
        l1 == first ? size_t((size - (int64_t(1) << (first - 1))) >> std::max(0, int(first) - second_level_bits_)) : 0;
    for (; l2 < free_blocks_[l1].size(); l2++) {
      if (free_blocks_[l1][l2].empty()) continue;
      int64_t start = free_blocks_[l1][l2].front();
      TGC_CHECK(tlsf_blocks_.at(start).size >= size, "a block of this list is large enough");
      if (tlsf_blocks_.at(start).size > asked) split_block(start, asked);
      remove_free_block(start);
      return start;
    }
  }
  throw Failure("cannot allocate " + std::to_string(asked) + " bytes");
}

void TlsfAllocator::free(int64_t start) {
  TlsfBlock block = tlsf_blocks_.at(start);
  insert_free_block(start, block.size, block.previous);
  merge_block(start);
}

}  // namespace tgc
