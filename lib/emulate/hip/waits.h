// What is watched on request (--race): registers used before the load that fills them is waited for, and accesses of
// one address by threads of two waves with no barrier between.
#pragma once
#include <array>
#include <unordered_map>

#include "lib/emulate/hip/launch.h"

namespace tgc::hip {

// The loads of a wave that are under way. Loads of one kind end in order, but those of the scalar unit.
class Waits {
 public:
  // Before an operation runs. Throws the Fault of one that touches a register whose load was not waited for.
  void check(Wave& w, const Op& o);
  // At a barrier: the Fault of stores to the group's memory that were not waited for; others might not see them.
  void check_barrier(Wave& w, const Op& o) const;
  // `is_shared`: one counter counts loads of the scalar unit and of the group's memory.
  void wait(Counter counter, uint64_t open, bool is_shared);

 private:
  struct Pending {
    uint64_t number = 0;  // of the load among those of its kind
    uint32_t instruction = 0;
    Counter counter = Counter::None;
  };
  bool is_open(const Pending& p) const { return p.number > done_[size_t(p.counter)]; }
  std::array<Pending, kVectors + kConstants> pending_{};  // by register: scalar ones behind the vector registers
  std::array<uint64_t, 5> issued_{}, done_{};
  uint64_t last_store_ = 0;  // to the group's memory: its number
};

// The operation that a wait is: Op::bytes a Counter, Op::offset how many may be open.
Run wait_run();

// What each word of memory was last accessed by. Of bytes that threads store side by side in a word it remembers those
// of the last: no race is invented, one of single bytes may be missed.
class Races {
 public:
  void note(Wave& w, const Op& o, uint32_t lane, uint64_t host_address, uint32_t bytes, Access access);
  void forget();  // at a barrier

 private:
  static constexpr uint64_t kPageBytes = 4096, kWordBytes = 4;
  struct One {
    uint32_t instruction = 0, moment = 0;
    uint16_t thread = UINT16_MAX;
    uint8_t bytes = 0;  // of the word, a bit each
    bool is_atomic = false;
  };
  struct Cell {
    uint32_t epoch = 0;  // what is of another is forgotten
    One store, load, other_load;
  };
  using Page = std::array<Cell, kPageBytes / kWordBytes>;
  Cell& cell_of(uint64_t address);
  void note_word(Wave& w, const Op& o, uint32_t lane, uint64_t address, uint8_t bytes, Access access);

  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;
  uint64_t recent_number_ = 0;
  Page* recent_ = nullptr;
  uint32_t epoch_ = 1;
};

}  // namespace tgc::hip
