// Summarizes a thread trace: packets, waves, and, if the kernel's code is known, its instructions.
#pragma once
#include <array>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/profile/kernel_code.h"
#include "lib/profile/sqtt.h"

namespace tgc::profile {

// `cu` has RDNA's shader array in its high bits; `wave` is the wave's slot on the SIMD.
struct WaveSpan {
  uint32_t cu = 0, simd = 0, wave = 0;
  static constexpr int64_t kUnknownTime = INT64_MIN;  // the trace has no packet of the begin or end
  int64_t begin = kUnknownTime, end = kUnknownTime;
};

// A packet that several shader engines write at the same time, so that it relates the clocks of their traces.
struct ClockMark {
  uint64_t id = 0;  // equal in the traces whose clocks it relates
  int64_t time = 0;
};

// The times of an instruction, added up over all waves of the traced SIMD.
struct InstructionTimes {
  uint64_t num_executions = 0;
  uint64_t cycles = 0;          // from the wave's start or previous issue to this issue
  uint64_t stall_cycles = 0;    // `cycles` less one for each issue that took at least one
  uint64_t idle_cycles = 0;     // part of `stall_cycles` in which the SIMD issued nothing for other waves either
};

struct SqttSummary {
  SqttLayout layout = SqttLayout::Rdna3;
  uint64_t num_packets = 0;
  int64_t first_time = 0, last_time = 0;
  // number (DecodeRow::count_base plus the operation) and value of each counter that is not 0
  std::vector<std::pair<uint16_t, uint64_t>> counter_values;
  std::vector<WaveSpan> wave_spans;
  std::optional<ClockMark> clock_mark;         // before the first wave; nullopt: none
  std::vector<InstructionTimes> instructions;  // by instruction of the code; empty if packets were not mapped
  std::string error;                           // why the packets could not be mapped to instructions

  using Counts = std::vector<std::pair<std::string, uint64_t>>;
  struct NamedCounts {
    Counts packet_counts, operation_counts;
  };
  NamedCounts named_counts() const;
};

// If `code` is not null, maps the packets of SIMD 0 of compute unit 0 to its instructions. A CDNA trace without ISSUE
// packets is not mapped.
SqttSummary summarize_sqtt(std::span<const uint8_t> blob, const KernelCode* code);

// The issue of an instruction by a followed wave, one of SIMD 0 of compute unit 0.
struct InstructionIssue {
  uint32_t wave = 0, instruction = 0;
  uint64_t cycles = 0, stall_cycles = 0, idle_cycles = 0;
};

class WaveObserver {
 public:
  virtual ~WaveObserver() = default;
  virtual void start_wave(uint32_t wave) = 0;
  virtual void issue(const InstructionIssue& issue) = 0;
};
// Decodes a trace again, and calls the observer for the starts and issues of the followed waves, in order.
void follow_waves(std::span<const uint8_t> blob, const KernelCode& code, WaveObserver& observer);

// Follows waves of a CDNA trace, and then calls `start` and `issue` in the order of time. Returns "", or, without any
// call, why the packets do not fit the code.
std::string follow_cdna_waves(std::span<const uint8_t> blob, const KernelCode& code,
                              const std::function<void(uint32_t wave, int64_t time)>& start,
                              const std::function<void(uint32_t wave, uint32_t instruction, int64_t time)>& issue);

// Follows waves of an RDNA trace through the code. Mirrors tinygrad 0.13's map_insts.
class InstructionMap {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  explicit InstructionMap(const KernelCode* code) : kernel_code_(code) { next_instruction_.fill(kNone); }

  // One function for each kind of packet. Those with a result return the number of the packet's instruction; kNone on
  // an error.
  void start_wave(uint32_t wave) {
    if (next_instruction_[wave] != kNone) return set_error("a wave starts twice");
    next_instruction_[wave] = kernel_code_->instructions().empty() ? kOutsideCode : 0;
  }
  uint32_t end_wave(uint32_t wave) {
    uint32_t n = require_next_instruction(wave);
    next_instruction_[wave] = kNone;
    return n;
  }
  uint32_t issue_immediate(uint32_t wave) {
    uint32_t n = require_next_instruction(wave);
    if (n != kNone) next_instruction_[wave] = instruction_or_outside(kernel_code_->instructions()[n].next_instruction);
    return n;
  }
  uint32_t issue_instruction(uint32_t wave, bool is_inst, uint32_t op) {
    uint32_t n = require_next_instruction(wave);
    if (n == kNone) return n;
    n = kernel_code_->instructions()[n].packet_instruction;
    if (n == KernelCode::kNoInstruction) return set_error("a wave leaves the code"), kNone;
    const CodeInstruction& i = kernel_code_->instructions()[n];
    bool is_jump = is_inst && op == kJumpOp;
    if (i.is_branch && !is_jump && !(is_inst && op == kJumpNotOp))
      return set_error("a branch has a packet that is not JUMP or JUMP_NO"), kNone;
    next_instruction_[wave] = instruction_or_outside(is_jump ? i.jump_target : i.next_instruction);
    return n;
  }
  const char* error() const { return error_text_; }

  static constexpr uint32_t kJumpOp = 3, kJumpNotOp = 4;

 private:
  // A wave's position outside the code, which is an error only if a packet of the wave follows.
  static constexpr uint32_t kOutsideCode = UINT32_MAX - 1;
  static uint32_t instruction_or_outside(uint32_t n) { return n == KernelCode::kNoInstruction ? kOutsideCode : n; }
  uint32_t require_next_instruction(uint32_t wave) {
    uint32_t n = next_instruction_[wave];
    if (n < kOutsideCode) return n;
    return set_error(n == kNone ? "a packet of a wave that has not started" : "a wave leaves the code"), kNone;
  }
  void set_error(const char* what) {
    if (!error_text_) error_text_ = what;
  }

  const KernelCode* kernel_code_;
  std::array<uint32_t, 32> next_instruction_;
  const char* error_text_ = nullptr;
};

}  // namespace tgc::profile
