// Follows waves by the packets of CDNA. An ISSUE packet says which waves of a SIMD issue an instruction, and for which
// an instruction without a unit ends. An INST packet has the kind of a wave's oldest issued instruction whose kind is
// still unknown.
#include <algorithm>
#include <deque>

#include "lib/profile/sqtt_summary.h"
#include "lib/support/counted.h"

namespace tgc::profile {
namespace {

constexpr uint32_t kIssued = 2, kImmediate = 3;      // states of a wave in an ISSUE packet
constexpr uint32_t kWaves = 10, kStateLow = 8;       // waves of a SIMD; lowest bit of their states in an ISSUE
// Kinds of instructions. kReplay to kLastReplay are repeated accesses to memory.
constexpr uint32_t kPc = 7, kJumpOp = 12, kNext = 13, kMessage = 15, kReplay = 19, kLastReplay = 24;
// Kinds of instructions that end without a unit, and of those whose INST packet has not come.
constexpr uint32_t kImmediateKind = 32, kUnknownKind = 33;
constexpr uint32_t kTrapCount = 64;                  // a WAVESTART with a larger count is that of a trap handler

struct IssuedInstruction {
  int64_t time = 0;
  uint32_t kind = kUnknownKind;
};
struct Wave {
  bool is_open = false;
  int64_t begin = 0;
  std::vector<IssuedInstruction> issued;
  std::deque<size_t> unknown_kinds;  // indices in `issued`, the oldest first
};
struct WaveEvent {
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

bool kind_fits_instruction(uint32_t kind, const CodeInstruction& i) {
  using Unit = InstructionUnit;
  if (kind == kUnknownKind) return !i.is_program_end_op;
  if (kind == kImmediateKind) return i.unit == Unit::Wait || i.unit == Unit::Barrier || i.unit == Unit::Other;
  if (kind == kMessage) return i.unit == Unit::Other || i.unit == Unit::Barrier;
  return unit_of_kind(kind) == i.unit;
}

class CdnaWaveFollower {
 public:
  explicit CdnaWaveFollower(const KernelCode& code) : code_(code) {}

  void add_packet(const PacketView& p) {
    auto field = [&](uint32_t low, uint32_t bits) { return uint32_t(p.bits >> low & ((1u << bits) - 1)); };
    switch (p.row->packet) {
      case PacketId::CDNA_WAVESTART: case PacketId::CDNA_WAVEEND: {
        const uint32_t sh = field(5, 1), cu = field(6, 4), wave = field(10, 4), simd = field(14, 2);
        if (sh || cu || simd || wave >= kWaves) return;
        if (p.row->packet == PacketId::CDNA_WAVEEND) return end_wave(wave, p.time);
        if (field(22, 7) > kTrapCount) return set_error("a wave enters a trap handler");
        waves_[wave] = {.is_open = true, .begin = p.time};
        return;
      }
      case PacketId::CDNA_ISSUE:
        if (field(5, 2)) return;
        for (uint32_t n = 0; n < kWaves; n++) {
          const uint32_t state = field(kStateLow + 2 * n, 2);
          Wave& w = waves_[n];
          if (!w.is_open || (state != kIssued && state != kImmediate)) continue;
          if (state == kIssued) w.unknown_kinds.push_back(w.issued.size());
          w.issued.push_back({p.time, state == kIssued ? kUnknownKind : kImmediateKind});
        }
        return;
      case PacketId::CDNA_INST: {
        const uint32_t wave = field(5, 4), simd = field(9, 2), kind = field(11, 5);
        if (simd || wave >= kWaves || waves_[wave].unknown_kinds.empty()) return;
        Wave& w = waves_[wave];
        if (kind >= kReplay && kind <= kLastReplay) return set_error("an access to memory was repeated (XNACK)");
        if (kind == kPc) return set_error("a wave goes on at an address from a register");
        w.issued[w.unknown_kinds.front()].kind = kind;
        w.unknown_kinds.pop_front();
        return;
      }
      default: return;
    }
  }

  std::string replay_events(const std::function<void(uint32_t, int64_t)>& start,
                            const std::function<void(uint32_t, uint32_t, int64_t)>& issue) {
    if (!error_.empty()) return error_;
    std::ranges::stable_sort(wave_events_, {}, &WaveEvent::time);
    for (const WaveEvent& s : wave_events_) s.is_start ? start(s.wave, s.time) : issue(s.wave, s.instruction, s.time);
    return "";
  }

 private:
  void set_error(std::string what) {
    if (error_.empty()) error_ = std::move(what);
  }

  void end_wave(uint32_t number, int64_t time) {
    Wave w = std::move(waves_[number]);
    waves_[number] = {};
    if (!w.is_open || !error_.empty()) return;
    wave_events_.push_back({w.begin, number, 0, true});
    const auto& code = code_.instructions();
    uint32_t at = code.empty() ? KernelCode::kNoInstruction : 0;
    int64_t last = w.begin;
    for (size_t k = 0; k < w.issued.size(); k++) {
      if (at == KernelCode::kNoInstruction) return set_error("a wave leaves the code");
      // s_endpgm is issued, too: as a message, without a unit, or without an INST packet
      const bool is_end_kind = w.issued[k].kind == kMessage || w.issued[k].kind >= kImmediateKind;
      if (code[at].is_program_end_op && k + 1 == w.issued.size() && is_end_kind) break;
      if (!kind_fits_instruction(w.issued[k].kind, code[at])) {
        // the INST packets of two instructions of a wave for different units may be swapped
        const uint32_t next = code[at].next_instruction;
        const bool is_swapped = k + 1 < w.issued.size() && next != KernelCode::kNoInstruction &&
                                kind_fits_instruction(w.issued[k].kind, code[next]) &&
                                kind_fits_instruction(w.issued[k + 1].kind, code[at]);
        if (!is_swapped)
          return set_error(formatted("packet %zu of %zu of a wave, of kind %u, does not fit the instruction at %#x",
                                     k + 1, w.issued.size(), w.issued[k].kind, unsigned(code_.address_of(at))));
        std::swap(w.issued[k].kind, w.issued[k + 1].kind);
      }
      last = std::max(last, w.issued[k].time);
      wave_events_.push_back({last, number, at, false});
      // s_barrier is issued twice: when the wave arrives, and when it continues
      const bool arrives = code[at].unit == InstructionUnit::Barrier && w.issued[k].kind == kMessage;
      if (arrives && k + 1 < w.issued.size() && w.issued[k + 1].kind == kImmediateKind) {
        last = std::max(last, w.issued[++k].time);
        wave_events_.back().time = last;
      }
      at = w.issued[k].kind == kJumpOp ? code[at].jump_target : code[at].next_instruction;
    }
    if (at == KernelCode::kNoInstruction || !code[at].is_program_end_op)
      return set_error("a wave ends elsewhere than at s_endpgm");
    wave_events_.push_back({std::max(last, time), number, at, false});
  }

  const KernelCode& code_;
  std::array<Wave, kWaves> waves_;
  std::vector<WaveEvent> wave_events_;
  std::string error_;
};

}  // namespace

std::string follow_cdna_waves(std::span<const uint8_t> blob, const KernelCode& code,
                              const std::function<void(uint32_t, int64_t)>& start,
                              const std::function<void(uint32_t, uint32_t, int64_t)>& issue) {
  CdnaWaveFollower follower(code);
  decode_sqtt(blob, [&](const PacketView& p) { follower.add_packet(p); });
  return follower.replay_events(start, issue);
}

}  // namespace tgc::profile
