// What is watched on request (--race) besides races: registers used before the load that fills them is waited for.
#pragma once
#include <array>

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

}  // namespace tgc::hip
