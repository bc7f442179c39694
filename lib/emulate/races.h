// Data race detector (--race): finds two accesses of one address by two threads of a block with no barrier in between,
// at least one of them a store and not both atomic. Keeps the last accesses of each memory cell. Each host thread has
// its own Races.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/emulate/memory.h"

namespace tgc::emulate {

class Races {
 public:
  // One access by one thread. `moment` orders accesses within a team (a warp or wave): two threads of one team race
  // only if their moments are equal. Threads of different teams race whatever their moments are.
  struct ThreadAccess {
    uint32_t instruction = 0, moment = 0;
    uint16_t thread = kNoThread;  // number of the thread in its block
    Access access = Access::Load;

    bool stores() const { return access != Access::Load; }
  };
  struct Race {
    uint64_t address;
    ThreadAccess now, other;
    // Returns "stores an address that THREAD read with no barrier between: INSTRUCTION", or similar for other accesses.
    // `thread` and `instruction` describe the earlier access.
    std::string text(const std::string& thread, const std::string& instruction) const {
      return std::string(now.stores() ? "stores" : "reads") + " an address that " + thread +
             (other.stores() ? " stored" : " read") + " with no barrier between: " + instruction;
    }
  };

  // `team`: the number of consecutive threads in a team; 1 if threads do not run in lockstep.
  explicit Races(uint32_t team = 1) : team_(team) {}

  // Records an access to [address, address + bytes) in host memory. Returns its first race with an earlier access.
  std::optional<Race> note(uint64_t address, uint32_t bytes, const ThreadAccess& now) {
    for (uint64_t end = address + bytes; address < end;) {
      Page& page = page_of(address);
      // an access that does not cover whole cells halves the page's cell size until it does
      while ((address | (end - address)) & (page.unit - 1)) page.split();
      Cell& cell = page.cells[address % kPageBytes / page.unit];
      if (cell.epoch != epoch_) cell = {.epoch = epoch_};
      if (const ThreadAccess* other = find_conflict(cell, now)) return Race{address, now, *other};
      record_access(cell, now);
      address += page.unit;
    }
    return {};
  }

  // Discards all recorded accesses. Call at every barrier and before each block.
  void forget() {
    constexpr size_t kMostPages = 4096;
    if (pages_.size() > kMostPages) pages_.clear(), recent_ = {};
    epoch_++;
  }

 private:
  static constexpr uint16_t kNoThread = UINT16_MAX;
  static constexpr uint64_t kPageBytes = 4096;

  struct Cell {
    uint32_t epoch = 0;             // the cell is valid only if its epoch equals epoch_
    ThreadAccess store;             // the last store
    ThreadAccess load, other_load;  // the last loads by two teams or, if only one team loads, by two of its threads
  };
  struct Page {
    uint64_t unit = 4;  // bytes per cell; shrinks to fit accesses smaller than a word
    std::vector<Cell> cells = std::vector<Cell>(kPageBytes / 4);

    void split() {
      std::vector<Cell> halves;
      halves.reserve(cells.size() * 2);
      for (const Cell& c : cells) halves.push_back(c), halves.push_back(c);
      cells = std::move(halves), unit /= 2;
    }
  };

  Page& page_of(uint64_t address) {
    uint64_t number = address / kPageBytes;
    Recent& recent = recent_[number % recent_.size()];
    if (recent.number != number) recent = {number, &pages_[number]};
    return *recent.page;
  }

  bool is_one_team(const ThreadAccess& a, const ThreadAccess& b) const { return a.thread / team_ == b.thread / team_; }
  bool conflict(const ThreadAccess& before, const ThreadAccess& now) const {
    if (before.thread == kNoThread || before.thread == now.thread) return false;
    if (before.access == Access::Atomic && now.access == Access::Atomic) return false;
    return !is_one_team(before, now) || before.moment == now.moment;
  }
  const ThreadAccess* find_conflict(const Cell& cell, const ThreadAccess& now) const {
    if (conflict(cell.store, now)) return &cell.store;
    if (!now.stores()) return nullptr;
    return conflict(cell.load, now) ? &cell.load : conflict(cell.other_load, now) ? &cell.other_load : nullptr;
  }
  void record_access(Cell& cell, const ThreadAccess& now) const {
    ThreadAccess &load = cell.load, &other = cell.other_load;
    bool together = is_one_team(load, now);
    if (now.stores()) cell.store = now;
    else if (load.thread == kNoThread || load.thread == now.thread || (together && load.moment != now.moment))
      load = now;
    else if (!together || other.thread == kNoThread || is_one_team(load, other)) other = now;
  }

  uint32_t team_, epoch_ = 1;
  std::unordered_map<uint64_t, Page> pages_;  // by page number
  struct Recent {
    uint64_t number = UINT64_MAX;
    Page* page = nullptr;
  };
  std::array<Recent, 64> recent_{};
};

}  // namespace tgc::emulate
