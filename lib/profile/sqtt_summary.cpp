#include "lib/profile/sqtt_summary.h"

#include <algorithm>

namespace tgc::profile {
namespace {

// Other: of another SIMD, so not mapped to instructions.
enum OpSimd : uint8_t { Own, Other };

struct OpSimdTable {
  std::array<OpSimd, kNumCounters> simd_by_counter{};
  OpSimdTable() {
    for (SqttLayout layout : {SqttLayout::Rdna3, SqttLayout::Rdna4})
      for (uint32_t op = 0; op < kNumOpCounters; op++)
        if (inst_op_name(layout, op).starts_with("OTHER_")) simd_by_counter[first_op_counter(layout) + op] = Other;
  }
};

struct WavePacketBits {
  uint8_t wave_low_bit, wave_bits, simd_low, cu_low, cu_bits, sa_low, sa_shift;
};
constexpr WavePacketBits kStartRdna3{13, 5, 8, 10, 3, 7, 3}, kStartRdna4{15, 5, 8, 10, 4, 7, 4},
    kEndRdna3{15, 5, 9, 11, 3, 8, 3}, kEndRdna4{15, 5, 9, 11, 4, 8, 4}, kStartAndEndCdna{10, 4, 14, 6, 4, 0, 0};

const WavePacketBits& wave_packet_bits(PacketId p) {
  switch (p) {
    case PacketId::WAVESTART: return kStartRdna3;
    case PacketId::WAVESTART_RDNA4: return kStartRdna4;
    case PacketId::WAVEEND: return kEndRdna3;
    case PacketId::WAVEEND_RDNA4: return kEndRdna4;
    default: return kStartAndEndCdna;
  }
}

WaveSpan wave_of_packet(const PacketView& p) {
  const WavePacketBits& f = wave_packet_bits(p.row->packet);
  auto bits = [&](uint8_t low, uint8_t count) { return uint32_t(p.bits >> low & ((1u << count) - 1)); };
  WaveSpan out{.cu = bits(f.cu_low, f.cu_bits), .simd = bits(f.simd_low, 2), .wave = bits(f.wave_low_bit, f.wave_bits)};
  if (f.sa_shift) out.cu |= bits(f.sa_low, 1) << f.sa_shift;
  return out;
}

class WaveSpanBuilder {
 public:
  explicit WaveSpanBuilder(std::vector<WaveSpan>& waves) : waves_(waves) { open_waves_.fill(kNone); }
  void start_wave(WaveSpan wave, int64_t time) {
    wave.begin = time;
    open_waves_[slot_index(wave)] = uint32_t(waves_.size());
    waves_.push_back(wave);
  }
  void end_wave(WaveSpan wave, int64_t time) {
    uint32_t& open = open_waves_[slot_index(wave)];
    if (open != kNone) {
      waves_[open].end = time;
      open = kNone;
    } else {
      wave.end = time;
      waves_.push_back(wave);
    }
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  static size_t slot_index(const WaveSpan& w) { return w.wave | w.simd << 5 | w.cu << 7; }
  std::vector<WaveSpan>& waves_;
  std::array<uint32_t, 1 << 12> open_waves_;
};

// The hardware writes the packet of an instruction when it is issued, and that of a wait when the wait ends. So the
// time between two packets of a wave counts for the instruction of the second.
class IssueClock {
 public:
  explicit IssueClock(std::vector<InstructionTimes>& times) : times_(times) {}

  void start_wave(uint32_t wave, int64_t time) { waves_[wave] = {time, num_issue_cycles_}; }
  InstructionIssue record_issue(uint32_t wave, uint32_t instruction, int64_t time) {
    // no `if`, which would often be mispredicted
    num_issue_cycles_ += time != last_issue_time_, last_issue_time_ = time;
    Wave& w = waves_[wave];
    InstructionTimes& at = times_[instruction];
    const uint64_t cycles = uint64_t(std::max<int64_t>(time - w.time, 0)), stall = cycles - (cycles != 0);
    const uint64_t others = std::min(stall, uint64_t(std::max<int64_t>(num_issue_cycles_ - 1 - w.num_issue_cycles, 0))),
                   idle = stall - others;
    at.num_executions++, at.cycles += cycles, at.stall_cycles += stall, at.idle_cycles += idle;
    w = {time, num_issue_cycles_};
    return {wave, instruction, cycles, stall, idle};
  }

 private:
  struct Wave {
    int64_t time = 0;
    int64_t num_issue_cycles = 0;
  };
  std::vector<InstructionTimes>& times_;
  std::array<Wave, 32> waves_;
  int64_t last_issue_time_ = INT64_MIN, num_issue_cycles_ = 0;  // time of the last issue; cycles so far with an issue
};

constexpr uint32_t kSnapshotLow = 10;  // lowest bit of the field `snap`, in both RDNA layouts

struct NoObserver {
  void start_wave(uint32_t) {}
  void issue(const InstructionIssue&) {}
};

template <bool kMaps, class Observer>
void summarize(std::span<const uint8_t> blob, const KernelCode* code, SqttSummary& out, Observer& observer) {
  static const OpSimdTable mapping;
  WaveSpanBuilder waves(out.wave_spans);
  [[maybe_unused]] InstructionMap map(code);
  [[maybe_unused]] IssueClock clock(out.instructions);
  [[maybe_unused]] auto hit = [&](uint32_t wave, uint32_t n, int64_t time) {
    if (n != InstructionMap::kNone) observer.issue(clock.record_issue(wave, n, time));
  };
  uint64_t packets = 0;
  int64_t time = 0;
  std::array<uint64_t, kNumCounters> counts{};
  decode_sqtt(blob, [&](const PacketView& p) {
    if (packets++ == 0) [[unlikely]] {
      out.layout = p.layout, out.first_time = p.time;
    }
    time = p.time;
    uint32_t op = uint32_t(p.bits >> p.row->count_low_bit) & p.row->count_mask;
    uint32_t counter = p.row->count_base + op;
    counts[counter]++;
    switch (p.row->action) {
      case PacketAction::Start: {
        WaveSpan wave = wave_of_packet(p);
        waves.start_wave(wave, p.time);
        if (kMaps && wave.cu == 0 && wave.simd == 0)
          map.start_wave(wave.wave), clock.start_wave(wave.wave, p.time), observer.start_wave(wave.wave);
        break;
      }
      case PacketAction::End: {
        WaveSpan wave = wave_of_packet(p);
        waves.end_wave(wave, p.time);
        if (kMaps && wave.cu == 0 && wave.simd == 0) hit(wave.wave, map.end_wave(wave.wave), p.time);
        break;
      }
      case PacketAction::Instruction:
        if (kMaps && mapping.simd_by_counter[counter] == Own) {
          uint32_t wave = uint32_t(p.bits >> p.row->wave_low_bit) & 31;
          hit(wave, map.issue_instruction(wave, p.row->count_mask != 0, op), p.time);
        }
        break;
      case PacketAction::Mask:
        if (kMaps)
          for (uint32_t mask = uint32_t(p.bits >> 8) & 0xffff; mask; mask &= mask - 1) {
            uint32_t wave = uint32_t(__builtin_ctz(mask));
            hit(wave, map.issue_immediate(wave), p.time);
          }
        break;
      case PacketAction::Snapshot:
        if (out.wave_spans.empty()) out.clock_mark = {p.bits >> kSnapshotLow, p.time};
        break;
      case PacketAction::Timestamp:  // of CDNA: equal for the engines of a die
        if (out.wave_spans.empty() && !out.clock_mark && !(p.bits >> 4 & 0xfff))
          out.clock_mark = {p.bits >> 16, p.time};
        break;
      default: break;
    }
  });
  out.num_packets = packets, out.last_time = time;
  for (uint32_t n = 0; n < kNumCounters; n++)
    if (counts[n]) out.counter_values.emplace_back(uint16_t(n), counts[n]);
  if (kMaps && map.error()) out.error = map.error(), out.instructions.clear();
}

template <class Observer>
void summarize_cdna(std::span<const uint8_t> blob, const KernelCode& code, SqttSummary& out, Observer& observer) {
  out.instructions.resize(code.instructions().size());
  IssueClock clock(out.instructions);
  out.error = follow_cdna_waves(
      blob, code, [&](uint32_t wave, int64_t time) { clock.start_wave(wave, time), observer.start_wave(wave); },
      [&](uint32_t wave, uint32_t n, int64_t time) { observer.issue(clock.record_issue(wave, n, time)); });
  if (!out.error.empty()) out.instructions.clear();
}

}  // namespace

SqttSummary::NamedCounts SqttSummary::named_counts() const {
  NamedCounts out;
  std::array<uint64_t, size_t(PacketId::Count)> packets_of{};
  for (auto [counter, count] : counter_values) {
    if (counter < packets_of.size()) {
      packets_of[counter] += count;
      continue;
    }
    constexpr std::pair<SqttLayout, PacketId> kWithOps[] = {{SqttLayout::Rdna3, PacketId::INST},
                                                            {SqttLayout::Rdna4, PacketId::INST_RDNA4},
                                                            {SqttLayout::Cdna, PacketId::CDNA_INST}};
    auto [l, packet] = kWithOps[(counter - packets_of.size()) / kNumOpCounters];
    packets_of[size_t(packet)] += count;
    out.operation_counts.emplace_back(inst_op_name(l, counter - first_op_counter(l)), count);
  }
  for (size_t p = 0; p < packets_of.size(); p++)
    if (packets_of[p]) out.packet_counts.emplace_back(packet_type(PacketId(p)).name, packets_of[p]);
  return out;
}

SqttSummary summarize_sqtt(std::span<const uint8_t> blob, const KernelCode* code) {
  SqttSummary out;
  NoObserver none;
  const bool is_cdna = code && code->isa() == Isa::Cdna;
  if (code && !is_cdna) {
    out.instructions.resize(code->instructions().size());
    summarize<true>(blob, code, out, none);
    return out;
  }
  summarize<false>(blob, nullptr, out, none);
  const bool has_issues = std::ranges::find(out.counter_values, uint16_t(PacketId::CDNA_ISSUE),
                                            &std::pair<uint16_t, uint64_t>::first) != out.counter_values.end();
  if (is_cdna && has_issues) summarize_cdna(blob, *code, out, none);
  return out;
}

void follow_waves(std::span<const uint8_t> blob, const KernelCode& code, WaveObserver& observer) {
  SqttSummary unused;
  if (code.isa() == Isa::Cdna) return summarize_cdna(blob, code, unused, observer);
  unused.instructions.resize(code.instructions().size());
  summarize<true>(blob, &code, unused, observer);
}

}  // namespace tgc::profile
