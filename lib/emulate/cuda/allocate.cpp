// Register allocation by linear scan over live intervals. Liveness is that of a single thread: each lane has its own
// values, and masked writes do not touch other lanes, so the result is valid for all lanes of a warp.
#include <algorithm>
#include <array>
#include <queue>

#include "lib/emulate/cuda/builder.h"
#include "lib/support/result.h"

namespace tgc::ptx {
namespace {

// limit for all live sets together; beyond it, registers share no slots
constexpr size_t kMostLiveBits = size_t(1) << 31;
constexpr uint64_t kMostFileBytes = 64 << 20;

uint32_t register_bytes(unsigned bits) { return bits == 1 ? 4 : bits / 8 * kNumLanes; }

// Calls read(r) for each register that the op reads, and write(r) for each that it writes: d and the first `outs` of
// its more_operands.
template <class Read, class Write>
void visit_registers(const TranslatedKernel& code, const Op& op, uint8_t outs, Read read, Write write) {
  for (uint32_t r : {op.a, op.b, op.c, op.guard})
    if (r != kNoIndex) read(r);
  if (op.has_register_list())
    for (uint32_t n = outs; n < op.num_more_operands; n++) read(code.operands[op.more_operands + n]);
  auto written = [&](uint32_t r) {
    if (op.guard != kNoIndex) read(r);  // lanes where the guard is false keep r's old value, so the op also reads r
    write(r);
  };
  if (op.d != kNoIndex) written(op.d);
  for (uint32_t n = 0; n < outs; n++) written(code.operands[op.more_operands + n]);
}

struct LiveInterval {
  uint64_t first = UINT64_MAX, last = 0;
  void extend(uint64_t at) { first = std::min(first, at), last = std::max(last, at); }
};

class Liveness {
 public:
  Liveness(const TranslatedKernel& code, const std::vector<uint8_t>& outs, size_t registers)
      : code_(code), output_counts_(outs), flow_(ControlFlow::analyze_code(code)), num_words_((registers + 63) / 64) {}

  bool is_affordable() const { return flow_.blocks.size() * num_words_ * 64 <= kMostLiveBits; }

  std::vector<LiveInterval> intervals(size_t registers) {
    solve_dataflow();
    std::vector<LiveInterval> out(registers);
    for (size_t b = 0; b < flow_.blocks.size(); b++) {
      const ControlFlow::BasicBlock& block = flow_.blocks[b];
      for_each_register(live_in_[b], [&](size_t r) { out[r].extend(2 * uint64_t(block.begin)); });
      for_each_register(live_out(b), [&](size_t r) { out[r].extend(2 * uint64_t(block.end)); });
      for (uint32_t i = block.begin; i < block.end; i++) {
        // an op with operands at Op::more_operands may write some before it has read the others
        uint64_t read = 2 * uint64_t(i) + (code_.ops[i].has_register_list() ? 2 : 0);
        visit_registers(
            code_, code_.ops[i], output_counts_[i],
            [&](uint32_t r) { out[r].extend(2 * uint64_t(i)), out[r].extend(read); },
            [&](uint32_t r) { out[r].extend(2 * uint64_t(i) + 1); });
      }
    }
    return out;
  }

 private:
  using RegisterSet = std::vector<uint64_t>;
  static bool contains(const RegisterSet& s, uint32_t r) { return s[r / 64] >> (r % 64) & 1; }
  static void insert(RegisterSet& s, uint32_t r) { s[r / 64] |= uint64_t(1) << (r % 64); }
  template <class F>
  static void for_each_register(const RegisterSet& s, F f) {
    for (size_t w = 0; w < s.size(); w++)
      for (uint64_t rest = s[w]; rest; rest &= rest - 1) f(w * 64 + size_t(__builtin_ctzll(rest)));
  }

  RegisterSet live_out(size_t b) const {
    RegisterSet out(num_words_);
    for (uint32_t s : flow_.blocks[b].successors)
      for (size_t w = 0; w < num_words_; w++) out[w] |= live_in_[s][w];
    return out;
  }

  void solve_dataflow() {
    size_t n = flow_.blocks.size();
    std::vector<RegisterSet> reads(n, RegisterSet(num_words_)), writes(n, RegisterSet(num_words_));
    for (size_t b = 0; b < n; b++)
      for (uint32_t i = flow_.blocks[b].begin; i < flow_.blocks[b].end; i++)
        visit_registers(
            code_, code_.ops[i], output_counts_[i],
            [&](uint32_t r) {
              if (!contains(writes[b], r)) insert(reads[b], r);
            },
            [&](uint32_t r) { insert(writes[b], r); });
    live_in_ = reads;
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t b = n; b-- > 0;) {
        RegisterSet out = live_out(b);
        for (size_t w = 0; w < num_words_; w++) {
          uint64_t in = reads[b][w] | (out[w] & ~writes[b][w]);
          if (in != live_in_[b][w]) live_in_[b][w] = in, changed = true;
        }
      }
    }
  }

  const TranslatedKernel& code_;
  const std::vector<uint8_t>& output_counts_;
  ControlFlow flow_;
  size_t num_words_;
  std::vector<RegisterSet> live_in_;
};

class RegisterSlots {
 public:
  explicit RegisterSlots(const std::vector<unsigned>& bits) : bits_(bits), slots_(bits.size(), kNoIndex) {}

  void assign_new_slot(uint32_t r) {
    uint32_t bytes = register_bytes(bits_[r]);
    uint64_t unit = bytes < 64 ? bytes : 64;
    end_offset_ = (end_offset_ + unit - 1) / unit * unit;
    slots_[r] = uint32_t(end_offset_);
    end_offset_ += bytes;
    if (end_offset_ > kMostFileBytes)
      throw Failure(Diag{.message = "the kernel has too many registers to be emulated"});
  }
  void assign_slot(uint32_t r) {
    auto& free = free_slots_[size_class(r)];
    if (free.empty()) return assign_new_slot(r);
    slots_[r] = free.back();
    free.pop_back();
  }
  void release_slot(uint32_t r) { free_slots_[size_class(r)].push_back(slots_[r]); }
  bool contains(uint32_t r) const { return slots_[r] != kNoIndex; }
  void replace_by_slot(uint32_t& r) const { r = r == kNoIndex ? 0 : slots_[r]; }
  uint32_t end_offset() const { return uint32_t((end_offset_ + 63) / 64 * 64); }

 private:
  size_t size_class(uint32_t r) const {
    unsigned b = bits_[r];
    return b == 1 ? 0 : b == 16 ? 1 : b == 32 ? 2 : b == 64 ? 3 : 4;
  }
  const std::vector<unsigned>& bits_;
  std::vector<uint32_t> slots_;
  std::array<std::vector<uint32_t>, 5> free_slots_;
  uint64_t end_offset_ = 0;
};

}  // namespace

void allocate_registers(TranslatedKernel& code, const std::vector<uint8_t>& outs, const std::vector<unsigned>& bits) {
  RegisterSlots places(bits);
  for (RegisterPreset& p : code.presets) places.assign_new_slot(p.register_offset);
  Liveness liveness(code, outs, bits.size());
  if (liveness.is_affordable()) {
    std::vector<LiveInterval> intervals = liveness.intervals(bits.size());
    std::vector<uint32_t> order;
    for (uint32_t r = 0; r < bits.size(); r++)
      if (intervals[r].first != UINT64_MAX && !places.contains(r)) order.push_back(r);
    std::ranges::sort(order, {}, [&](uint32_t r) { return std::pair(intervals[r].first, r); });
    auto later = [&](uint32_t a, uint32_t b) { return intervals[a].last > intervals[b].last; };
    std::priority_queue<uint32_t, std::vector<uint32_t>, decltype(later)> live(later);
    for (uint32_t r : order) {
      for (; !live.empty() && intervals[live.top()].last < intervals[r].first; live.pop())
        places.release_slot(live.top());
      places.assign_slot(r);
      live.push(r);
    }
  } else {
    for (uint32_t r = 0; r < bits.size(); r++)
      if (!places.contains(r)) places.assign_new_slot(r);
  }
  for (RegisterPreset& p : code.presets) places.replace_by_slot(p.register_offset);
  for (uint32_t& r : code.operands) places.replace_by_slot(r);
  for (Op& op : code.ops) {
    for (uint32_t* r : {&op.d, &op.a, &op.b, &op.c}) places.replace_by_slot(*r);
    if (op.guard != kNoIndex) places.replace_by_slot(op.guard);
  }
  code.register_file_bytes = std::max(places.end_offset(), 64u);
}

}  // namespace tgc::ptx
