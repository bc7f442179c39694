// Detects data races (--race): two threads of a block access one address with no barrier in between, at least one of
// them stores, and not both accesses are atomic. Threads of one warp or wave race only at the same moment.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/emulate/memory.h"

namespace tgc::emulate {

class RaceDetector {
 public:
  // An access by one thread. `moment` orders the accesses within a team (a warp or wave): threads of one team race only
  // if their moments are equal.
  struct ThreadAccess {
    uint32_t instruction = 0, moment = 0;
    uint16_t thread = kNoThread;
    Access access = Access::Load;

    bool is_store() const { return access != Access::Load; }
  };
  struct DataRace {
    uint64_t address;
    ThreadAccess later_access, earlier_access;
    // Returns "stores an address that THREAD read with no barrier between: INSTRUCTION", or similar. `thread` and
    // `instruction` describe the earlier access.
    std::string text(const std::string& thread, const std::string& instruction) const {
      return std::string(later_access.is_store() ? "stores" : "reads") + " an address that " + thread +
             (earlier_access.is_store() ? " stored" : " read") + " with no barrier between: " + instruction;
    }
  };

  // `team`: number of consecutive threads in a team; 1 if threads do not run in lockstep.
  explicit RaceDetector(uint32_t team = 1) : num_team_threads_(team) {}

  // Records an access to [address, address + bytes) in host memory. Returns its first race with an earlier access.
  std::optional<DataRace> note_access(uint64_t address, uint32_t bytes, const ThreadAccess& now) {
    for (uint64_t end = address + bytes; address < end;) {
      AccessPage& page = page_of_address(address);
      // an access that does not cover whole cells halves the page's cell size until it does
      while ((address | (end - address)) & (page.cell_bytes - 1)) page.split_cells();
      AccessCell& cell = page.cells[address % kPageBytes / page.cell_bytes];
      if (cell.phase_number != phase_number_) cell = {.phase_number = phase_number_};
      if (const ThreadAccess* other = find_conflict(cell, now)) return DataRace{address, now, *other};
      record_access(cell, now);
      address += page.cell_bytes;
    }
    return {};
  }

  // Discards the recorded accesses. Call at every barrier and before each block.
  void forget_accesses() {
    constexpr size_t kMostPages = 4096;
    if (pages_.size() > kMostPages) pages_.clear(), recent_pages_ = {};
    phase_number_++;
  }

 private:
  static constexpr uint16_t kNoThread = UINT16_MAX;
  static constexpr uint64_t kPageBytes = 4096;

  struct AccessCell {
    uint32_t phase_number = 0;      // the cell is valid only if this equals phase_number_
    ThreadAccess store;
    ThreadAccess load, other_load;  // loads by two teams or, if only one team loads, by two of its threads
  };
  struct AccessPage {
    uint64_t cell_bytes = 4;
    std::vector<AccessCell> cells = std::vector<AccessCell>(kPageBytes / 4);

    void split_cells() {
      std::vector<AccessCell> halves;
      halves.reserve(cells.size() * 2);
      for (const AccessCell& c : cells) halves.push_back(c), halves.push_back(c);
      cells = std::move(halves), cell_bytes /= 2;
    }
  };

  AccessPage& page_of_address(uint64_t address) {
    uint64_t number = address / kPageBytes;
    RecentPage& recent = recent_pages_[number % recent_pages_.size()];
    if (recent.number != number) recent = {number, &pages_[number]};
    return *recent.page;
  }

  bool is_in_same_team(const ThreadAccess& a, const ThreadAccess& b) const {
    return a.thread / num_team_threads_ == b.thread / num_team_threads_;
  }
  bool is_conflict(const ThreadAccess& before, const ThreadAccess& now) const {
    if (before.thread == kNoThread || before.thread == now.thread) return false;
    if (before.access == Access::Atomic && now.access == Access::Atomic) return false;
    return !is_in_same_team(before, now) || before.moment == now.moment;
  }
  const ThreadAccess* find_conflict(const AccessCell& cell, const ThreadAccess& now) const {
    if (is_conflict(cell.store, now)) return &cell.store;
    if (!now.is_store()) return nullptr;
    return is_conflict(cell.load, now) ? &cell.load : is_conflict(cell.other_load, now) ? &cell.other_load : nullptr;
  }
  void record_access(AccessCell& cell, const ThreadAccess& now) const {
    ThreadAccess &load = cell.load, &other = cell.other_load;
    bool together = is_in_same_team(load, now);
    if (now.is_store()) cell.store = now;
    else if (load.thread == kNoThread || load.thread == now.thread || (together && load.moment != now.moment))
      load = now;
    else if (!together || other.thread == kNoThread || is_in_same_team(load, other)) other = now;
  }

  uint32_t num_team_threads_, phase_number_ = 1;
  std::unordered_map<uint64_t, AccessPage> pages_;
  struct RecentPage {
    uint64_t number = UINT64_MAX;
    AccessPage* page = nullptr;
  };
  std::array<RecentPage, 64> recent_pages_{};
};

}  // namespace tgc::emulate
