#include "lib/emulate/hip/waits.h"

#include <algorithm>

namespace tgc::hip {
namespace {

void run_wait(Wave& w, const Op& o) {
  if (w.waits) w.waits->wait(Counter(o.bytes), uint64_t(o.offset), w.code->family != Family::Gfx12);
}

}  // namespace

Run wait_run() { return run_wait; }

void Waits::wait(Counter counter, uint64_t open, bool is_shared) {
  size_t n = size_t(counter);
  if (counter == Counter::Scalar && open > 0) return;  // these end in any order
  // no order holds while scalar loads are under way
  bool mixed = is_shared && counter == Counter::Lds && open > 0 &&
               done_[size_t(Counter::Scalar)] < issued_[size_t(Counter::Scalar)];
  if (!mixed && issued_[n] >= open) done_[n] = std::max(done_[n], issued_[n] - open);
}

void Waits::check(Wave& w, const Op& o) {
  const Instruction& i = w.code->instructions[o.instruction];
  for (size_t n = 0; n < i.operands.size(); n++) {
    const Operand& operand = i.operands[n];
    if (!operand.is_register()) continue;
    uint32_t first = operand.place + (operand.kind == Operand::Scalar ? kVectors : 0);
    for (uint32_t k = first; k < first + operand.count; k++) {
      const Pending& p = pending_[k];
      bool is_next = n == 0 && o.loads && o.counter == p.counter && p.counter != Counter::Scalar;
      if (is_open(p) && !is_next)
        raise(w, o, 0, kLaunchFailed,
              "uses '" + std::string(operand.text) +
                  "' before it waits for what fills it: " + w.code->describe(p.instruction));
    }
  }
  if (o.counter == Counter::None) return;
  uint64_t number = ++issued_[size_t(o.counter)];
  if (!o.loads && o.counter == Counter::Lds) last_store_ = number;
  if (!o.loads) return;
  for (uint32_t k = 0; k < o.words; k++)
    pending_[o.to + k + (o.counter == Counter::Scalar ? kVectors : 0)] = {number, o.instruction, o.counter};
}

void Waits::check_barrier(Wave& w, const Op& o) const {
  if (last_store_ > done_[size_t(Counter::Lds)])
    raise(w, o, 0, kLaunchFailed, "reaches a barrier before it waits for what it stored to shared memory");
}

void Races::forget() {
  constexpr size_t kMostPages = 4096;
  if (pages_.size() > kMostPages) pages_.clear(), recent_ = nullptr, recent_number_ = 0;
  epoch_++;
}

Races::Cell& Races::cell_of(uint64_t address) {
  uint64_t number = address / kPageBytes;
  if (number != recent_number_ || !recent_) {
    std::unique_ptr<Page>& page = pages_[number];
    if (!page) page = std::make_unique<Page>();
    recent_ = page.get(), recent_number_ = number;
  }
  Cell& cell = (*recent_)[address % kPageBytes / kWordBytes];
  if (cell.epoch != epoch_) cell = {.epoch = epoch_};
  return cell;
}

void Races::note(Wave& w, const Op& o, uint32_t lane, uint64_t address, uint32_t bytes, Access access) {
  for (uint64_t end = address + bytes; address < end;) {
    uint64_t first = address % kWordBytes, count = std::min(kWordBytes - first, end - address);
    note_word(w, o, lane, address - first, uint8_t(((1u << count) - 1) << first), access);
    address += count;
  }
}

void Races::note_word(Wave& w, const Op& o, uint32_t lane, uint64_t address, uint8_t bytes, Access access) {
  uint32_t thread = w.first_thread + lane, wave_lanes = w.halves * kLanes;
  Cell& cell = cell_of(address);
  One now{o.instruction, uint32_t(w.executed), uint16_t(thread), bytes, access == Access::Atomic};
  // The compiler drops barriers of groups of one wave, whose lanes go together: there only one instruction races.
  auto conflicts = [&](const One& a) {
    if (a.thread == thread || !(a.bytes & bytes) || (a.is_atomic && now.is_atomic)) return false;
    return a.thread / wave_lanes != thread / wave_lanes || (a.moment == now.moment && a.instruction == now.instruction);
  };
  const One* other = conflicts(cell.store) ? &cell.store : nullptr;
  if (access != Access::Load && !other)
    other = conflicts(cell.load) ? &cell.load : conflicts(cell.other_load) ? &cell.other_load : nullptr;
  if (other)
    raise(w, o, lane, kLaunchFailed,
          std::string(access == Access::Load ? "reads" : "stores") + " an address that " +
              name_thread(*w.group, other->thread) + (other == &cell.store ? " stored" : " read") +
              " with no barrier between: " + w.code->describe(other->instruction));
  if (access != Access::Load) cell.store = now;
  else if (cell.load.bytes == 0 || cell.load.thread / wave_lanes == thread / wave_lanes) cell.load = now;
  else cell.other_load = now;
}

}  // namespace tgc::hip
