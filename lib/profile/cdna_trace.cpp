// Follows waves by the packets of CDNA. An ISSUE packet says which waves of a SIMD issue an instruction, and for which
// an instruction without a unit ends. An INST packet has the kind of a wave's oldest issued instruction without a known
// kind.
#include <algorithm>
#include <deque>

#include "lib/profile/sqtt_summary.h"
#include "lib/support/counted.h"

namespace tgc::profile {
namespace {

constexpr uint32_t kIssued = 2, kImmediate = 3;      // states of a wave in an ISSUE packet
constexpr uint32_t kWaves = 10, kStateLow = 8;       // waves of a SIMD; first bit of their states in an ISSUE
// kReplay to kLastReplay are repeated accesses to memory.
constexpr uint32_t kPc = 7, kJumpOp = 12, kNext = 13, kMessage = 15, kReplay = 19, kLastReplay = 24;
// Instructions that end without a unit, and those whose INST packet has not come.
constexpr uint32_t kImmediateKind = 32, kUnknownKind = 33;
constexpr uint32_t kTrapCount = 64;                  // larger counts are those of trap handlers

struct Issued {
  int64_t time = 0;
  uint32_t kind = kUnknownKind;
};
struct Wave {
  bool is_open = false;
  int64_t begin = 0;
  std::vector<Issued> list;
  std::deque<size_t> unknown;  // indices in `list`, by age
};
struct Step {
  int64_t time = 0;
  uint32_t wave = 0, instruction = 0;
  bool is_start = false;
};

InstructionUnit unit_of_kind(uint32_t kind) {
  using Unit = InstructionUnit;
  switch (kind) {
    case 0: case 16: return Unit::ScalarMemory;
    case 1: case 17: return Unit::Scalar;
    case 2: case 3: case 4: case 14: return Unit::Memory;
    case 5: case 18: case 28: return Unit::Vector;
    case 6: return Unit::Lds;
    case kJumpOp: case kNext: return Unit::Branch;
    default: return Unit::Other;
  }
}

bool fits(uint32_t kind, const CodeInstruction& i) {
  using Unit = InstructionUnit;
  if (kind == kUnknownKind) return !i.is_program_end_op;
  if (kind == kImmediateKind) return i.unit == Unit::Wait || i.unit == Unit::Barrier || i.unit == Unit::Other;
  if (kind == kMessage) return i.unit == Unit::Other || i.unit == Unit::Barrier;
  return unit_of_kind(kind) == i.unit;
}

class CdnaFollower {
 public:
  explicit CdnaFollower(const KernelCode& code) : code_(code) {}

  void packet(const PacketView& p) {
    auto field = [&](uint32_t low, uint32_t bits) { return uint32_t(p.bits >> low & ((1u << bits) - 1)); };
    switch (p.row->packet) {
      case Packet::CDNA_WAVESTART: case Packet::CDNA_WAVEEND: {
        const uint32_t sh = field(5, 1), cu = field(6, 4), wave = field(10, 4), simd = field(14, 2);
        if (sh || cu || simd || wave >= kWaves) return;
        if (p.row->packet == Packet::CDNA_WAVEEND) return end(wave, p.time);
        if (field(22, 7) > kTrapCount) return fail("a wave enters a trap handler");
        waves_[wave] = {.is_open = true, .begin = p.time};
        return;
      }
      case Packet::CDNA_ISSUE:
        if (field(5, 2)) return;
        for (uint32_t n = 0; n < kWaves; n++) {
          const uint32_t state = field(kStateLow + 2 * n, 2);
          Wave& w = waves_[n];
          if (!w.is_open || (state != kIssued && state != kImmediate)) continue;
          if (state == kIssued) w.unknown.push_back(w.list.size());
          w.list.push_back({p.time, state == kIssued ? kUnknownKind : kImmediateKind});
        }
        return;
      case Packet::CDNA_INST: {
        const uint32_t wave = field(5, 4), simd = field(9, 2), kind = field(11, 5);
        if (simd || wave >= kWaves || waves_[wave].unknown.empty()) return;
        Wave& w = waves_[wave];
        if (kind >= kReplay && kind <= kLastReplay) return fail("an access to memory was repeated (XNACK)");
        if (kind == kPc) return fail("a wave goes on at an address from a register");
        w.list[w.unknown.front()].kind = kind;
        w.unknown.pop_front();
        return;
      }
      default: return;
    }
  }

  std::string finish(const std::function<void(uint32_t, int64_t)>& start,
                     const std::function<void(uint32_t, uint32_t, int64_t)>& issue) {
    if (!error_.empty()) return error_;
    std::ranges::stable_sort(steps_, {}, &Step::time);
    for (const Step& s : steps_) s.is_start ? start(s.wave, s.time) : issue(s.wave, s.instruction, s.time);
    return "";
  }

 private:
  void fail(std::string what) {
    if (error_.empty()) error_ = std::move(what);
  }

  void end(uint32_t number, int64_t time) {
    Wave w = std::move(waves_[number]);
    waves_[number] = {};
    if (!w.is_open || !error_.empty()) return;
    steps_.push_back({w.begin, number, 0, true});
    const auto& code = code_.instructions();
    uint32_t at = code.empty() ? KernelCode::kNoInstruction : 0;
    int64_t last = w.begin;
    for (size_t k = 0; k < w.list.size(); k++) {
      if (at == KernelCode::kNoInstruction) return fail("a wave leaves the code");
      // s_endpgm is issued, too: as a message, without a unit, or without an INST packet
      const bool is_end_kind = w.list[k].kind == kMessage || w.list[k].kind >= kImmediateKind;
      if (code[at].is_program_end_op && k + 1 == w.list.size() && is_end_kind) break;
      if (!fits(w.list[k].kind, code[at])) {
        // the INST packets of two instructions of a wave for different units may be swapped
        const uint32_t next = code[at].next_instruction;
        const bool is_swapped = k + 1 < w.list.size() && next != KernelCode::kNoInstruction &&
                                fits(w.list[k].kind, code[next]) && fits(w.list[k + 1].kind, code[at]);
        if (!is_swapped)
          return fail(formatted("packet %zu of %zu of a wave, of kind %u, does not fit the instruction at %#x", k + 1,
                                w.list.size(), w.list[k].kind, unsigned(code_.address_of(at))));
        std::swap(w.list[k].kind, w.list[k + 1].kind);
      }
      last = std::max(last, w.list[k].time);
      steps_.push_back({last, number, at, false});
      // s_barrier is issued twice: when the wave arrives, and when it continues
      const bool arrives = code[at].unit == InstructionUnit::Barrier && w.list[k].kind == kMessage;
      if (arrives && k + 1 < w.list.size() && w.list[k + 1].kind == kImmediateKind) {
        last = std::max(last, w.list[++k].time);
        steps_.back().time = last;
      }
      at = w.list[k].kind == kJumpOp ? code[at].jump_target : code[at].next_instruction;
    }
    if (at == KernelCode::kNoInstruction || !code[at].is_program_end_op)
      return fail("a wave ends elsewhere than at s_endpgm");
    steps_.push_back({std::max(last, time), number, at, false});
  }

  const KernelCode& code_;
  std::array<Wave, kWaves> waves_;
  std::vector<Step> steps_;
  std::string error_;
};

}  // namespace

std::string follow_cdna_waves(std::span<const uint8_t> blob, const KernelCode& code,
                              const std::function<void(uint32_t, int64_t)>& start,
                              const std::function<void(uint32_t, uint32_t, int64_t)>& issue) {
  CdnaFollower follower(code);
  decode_sqtt(blob, [&](const PacketView& p) { follower.packet(p); });
  return follower.finish(start, issue);
}

}  // namespace tgc::profile
