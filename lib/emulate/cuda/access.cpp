#include "lib/emulate/cuda/access.h"

namespace tgc::ptx {

void check_lane_accesses(Warp& w, const Op& o, Space space, uint32_t bytes, Access access, const LaneAddresses& at,
                         uint32_t num_checked_bytes) {
  for_each_active_lane(w, [&](int lane) {
    uint64_t from = at.host[lane], to = from + bytes;
    std::string what = std::string(access_verb(access)) + " " + std::to_string(bytes) + " bytes at ";
    if (space == Space::Global) {
      if (!find_range(w, o, from, from + num_checked_bytes))
        throw_fault(w, o, lane, kIllegalAddress,
                    what + hex_text(from) + ", " +
                        location_text(w.block->launch->memory_ranges, w.block->launch->parameters, from, to));
    } else {
      uint64_t size = space == Space::Shared ? w.block->shared_memory.size() : w.block->launch->code->local_bytes;
      if (to < from || to > size)
        throw_fault(w, o, lane, kIllegalAddress,
                    what + std::to_string(int64_t(from)) + " of " + std::to_string(size) + " bytes of " +
                  (space == Space::Shared ? "shared" : "local") + " memory");
    }
    if (from & (bytes - 1))
      throw_fault(w, o, lane, kMisalignedAddress,
                  what + hex_text(from) + ", which is no multiple of " + std::to_string(bytes));
  });
}

void note_lane_accesses(Warp& w, const Op& o, Space space, uint32_t bytes, Access access, const LaneAddresses& at) {
  ThreadBlock& block = *w.block;
  if (space == Space::Shared) {
    uint64_t base = reinterpret_cast<uint64_t>(block.shared_memory.data());
    for_each_active_lane(w, [&](int lane) {
      uint8_t* stored = block.is_byte_stored.data() + (at.host[lane] - base);
      if (access == Access::Store) return void(std::memset(stored, 1, bytes));
      if (std::memchr(stored, 0, bytes))
        throw_fault(w, o, lane, kLaunchFailed,
                    std::string(access_verb(access)) + " " + std::to_string(bytes) + " bytes at " +
                        std::to_string(at.host[lane] - base) + " of shared memory, where nothing was stored before" +
                        (block.launch->num_block_threads() > 32
                         ? ": if another thread stores it, a barrier is missing before this load"
                         : ""));
    });
  }
  if (block.race_detector && space != Space::Local)
    for_each_active_lane(w, [&](int lane) {
      auto race = block.race_detector->note_access(at.host[lane], bytes,
                                    {o.instruction, w.num_syncs, uint16_t(w.first_thread + uint32_t(lane)), access});
      if (!race) return;
      const RaceDetector::ThreadAccess& earlier_access = race->earlier_access;
      throw_fault(w, o, lane, kLaunchFailed,
                  race->text(thread_text(block, earlier_access.thread),
                             block.launch->code->instruction_text(earlier_access.instruction)));
    });
}

}  // namespace tgc::ptx
