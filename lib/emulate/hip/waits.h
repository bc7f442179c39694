// Checks wait instructions (--race): a register must not be used before the load that fills it was waited for, and a
// wave must not reach a barrier before its LDS stores were waited for.
#pragma once
#include <array>

#include "lib/emulate/hip/driver.h"

namespace tgc::hip {

// A wave's outstanding memory operations. Operations of one counter complete in order, except scalar loads.
class WaitChecker {
 public:
  // Call before each operation. Throws a KernelFault if `o` uses a register whose load was not waited for, unless `o`
  // loads it again with the same counter (not Scalar). Records `o` if it is a memory operation.
  void check_operands(Wave& w, const Op& o);
  // Call at a barrier. Throws a KernelFault if an LDS store was not waited for, because other waves may not see the
  // store.
  void check_barrier(Wave& w, const Op& o) const;
  // Records a wait until at most `open` operations of the counter are outstanding. `is_shared`: one counter serves both
  // LDS operations and scalar loads of this processor.
  void wait_for(WaitCounter counter, uint64_t open, bool is_shared);

 private:
  struct PendingLoad {
    uint64_t number = 0;  // sequence number within its counter
    uint32_t instruction = 0;
    WaitCounter counter = WaitCounter::None;
  };
  bool is_pending(const PendingLoad& p) const { return p.number > num_completed_[size_t(p.counter)]; }
  // the last load into each vector register, then into each scalar register
  std::array<PendingLoad, kVectorFileSize + kFirstConstant> pending_loads_{};
  // for each WaitCounter: the number of operations issued, and the number completed
  std::array<uint64_t, 5> num_issued_{}, num_completed_{};
  uint64_t last_lds_store_number_ = 0;                        // sequence number of the last LDS store
};

// Returns the Op::run of a wait. Op::bytes is the WaitCounter, Op::offset the number of operations that may remain
// outstanding.
OpFunction wait_handler();

}  // namespace tgc::hip
