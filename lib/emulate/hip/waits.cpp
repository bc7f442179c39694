#include "lib/emulate/hip/waits.h"

#include <algorithm>

namespace tgc::hip {
namespace {

void run_wait(Wave& w, const Op& o) {
  if (w.pending_waits)
    w.pending_waits->wait_for(WaitCounter(o.bytes), uint64_t(o.offset), w.code->family != GpuFamily::Gfx12);
}

}  // namespace

OpFunction wait_handler() { return run_wait; }

void WaitChecker::wait_for(WaitCounter counter, uint64_t open, bool is_shared) {
  size_t n = size_t(counter);
  if (counter == WaitCounter::Scalar && open > 0) return;  // scalar loads complete in any order
  // if LDS operations and scalar loads share a counter, outstanding scalar loads make the order of completion unknown
  bool mixed = is_shared && counter == WaitCounter::Lds && open > 0 &&
               num_completed_[size_t(WaitCounter::Scalar)] < num_issued_[size_t(WaitCounter::Scalar)];
  if (!mixed && num_issued_[n] >= open) num_completed_[n] = std::max(num_completed_[n], num_issued_[n] - open);
}

void WaitChecker::check_operands(Wave& w, const Op& o) {
  const Instruction& i = w.code->instructions[o.instruction];
  for (size_t n = 0; n < i.operands.size(); n++) {
    const Operand& operand = i.operands[n];
    if (!operand.is_register()) continue;
    uint32_t first = operand.register_index + (operand.kind == Operand::Scalar ? kVectorFileSize : 0);
    for (uint32_t k = first; k < first + operand.count; k++) {
      const PendingLoad& p = pending_loads_[k];
      bool is_next = n == 0 && o.is_load && o.counter == p.counter && p.counter != WaitCounter::Scalar;
      if (is_pending(p) && !is_next)
        throw_fault(w, o, 0, kLaunchFailed,
                    "uses '" + std::string(operand.text) +
                  "' before it waits for what fills it: " + w.code->instruction_text(p.instruction));
    }
  }
  if (o.counter == WaitCounter::None) return;
  uint64_t number = ++num_issued_[size_t(o.counter)];
  if (!o.is_load && o.counter == WaitCounter::Lds) last_lds_store_number_ = number;
  if (!o.is_load) return;
  for (uint32_t k = 0; k < o.num_words; k++)
    pending_loads_[o.to + k + (o.counter == WaitCounter::Scalar ? kVectorFileSize : 0)] = {number, o.instruction,
                                                                                           o.counter};
}

void WaitChecker::check_barrier(Wave& w, const Op& o) const {
  if (last_lds_store_number_ > num_completed_[size_t(WaitCounter::Lds)])
    throw_fault(w, o, 0, kLaunchFailed, "reaches a barrier before it waits for what it stored to shared memory");
}

}  // namespace tgc::hip
