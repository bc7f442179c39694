// A log of executed instructions in memory that a process shares with its workers. `tgc run --profile` creates it and
// makes a profile of it (lib/profile/emulated_trace.h); the emulated GPU appends to it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace tgc::hip {

inline constexpr const char* kTraceLogVariable = "TGC_HIP_EMULATOR_TRACE_LOG";

struct TraceRecord {
  enum Kind : uint32_t {
    Module = 1,  // number: address of the loaded image; bytes: the code object
    // number: address of the image that has the kernel; bytes: "gfx1100 NAME", the processor and the kernel; then its
    // events
    Launch = 2,
  };
  uint32_t kind = 0, bytes = 0;
  uint64_t number = 0;
  uint64_t num_events = 0;  // number of 4-byte events that follow the record's bytes
};

// A log consists of this header and `used_bytes` bytes of records.
struct TraceLog {
  uint64_t capacity_bytes = 0;
  uint64_t used_bytes = 0;
  uint64_t last_record_offset = 0;  // offset of the last record in records()
  uint64_t is_full = 0;      // 1: a record or an event did not fit, and all later ones are missing

  std::byte* records() { return reinterpret_cast<std::byte*>(this + 1); }
  const std::byte* records() const { return reinterpret_cast<const std::byte*>(this + 1); }

  // Appends a record with `text`, padded to 8 bytes.
  void append(TraceRecord::Kind kind, uint64_t number, std::string_view text) {
    uint64_t padded = (text.size() + 7) / 8 * 8;
    used_bytes = (used_bytes + 7) / 8 * 8;
    if (is_full || text.size() > UINT32_MAX || capacity_bytes < used_bytes ||
        capacity_bytes - used_bytes < sizeof(TraceRecord) + padded) {
      is_full = 1;
      return;
    }
    TraceRecord record{.kind = kind, .bytes = uint32_t(text.size()), .number = number};
    std::memcpy(records() + used_bytes, &record, sizeof record);
    std::memcpy(records() + used_bytes + sizeof record, text.data(), text.size());
    last_record_offset = used_bytes;
    used_bytes += sizeof record + padded;
  }
  // Appends an event to the last record, which must be a launch.
  void add_event(uint32_t event) {
    if (is_full || capacity_bytes - used_bytes < sizeof event) {
      is_full = 1;
      return;
    }
    std::memcpy(records() + used_bytes, &event, sizeof event);
    used_bytes += sizeof event;
    uint64_t events;
    std::byte* count = records() + last_record_offset + offsetof(TraceRecord, num_events);
    std::memcpy(&events, count, sizeof events);
    events++;
    std::memcpy(count, &events, sizeof events);
  }
};

// An event is a 32-bit word. From the lowest bit on: the address of an instruction in the code object, divided by 4;
// the wave's number in its group; a TraceEvent. Jumped: an executed branch that was taken. Executed: any other executed
// instruction. Started and Ended: the wave begins or ends. ActiveLanes: the event has, in place of the address, the
// number of lanes in which the wave's next instructions run.
enum class TraceEvent : uint32_t { Executed, Jumped, Started, Ended, ActiveLanes };
inline constexpr uint32_t kTraceAddressBits = 24, kTraceWaveBits = 5;
constexpr uint32_t encode_trace_event(TraceEvent type, uint32_t wave, uint64_t address) {
  return uint32_t(type) << (kTraceAddressBits + kTraceWaveBits) | wave << kTraceAddressBits | uint32_t(address / 4);
}
constexpr uint32_t encode_lanes_event(uint32_t wave, uint32_t lanes) {
  return encode_trace_event(TraceEvent::ActiveLanes, wave, uint64_t(4) * lanes);
}

}  // namespace tgc::hip
