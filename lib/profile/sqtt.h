// Decodes AMD's thread traces (SQTT) of RDNA3, RDNA4 and CDNA: packets of nibbles, low nibble first. Mirrors
// renderer/amd/sqtt.py of tinygrad 0.13 (difference: README.md).
#pragma once
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace tgc::profile {

struct PacketField {
  const char* name = nullptr;
  uint8_t high = 0, low = 0;
};

#include "lib/profile/sqtt_packets.def"
enum class PacketId : uint8_t {
#define X(name, ...) name,
  TGC_SQTT_SHARED(X) TGC_SQTT_RDNA3(X) TGC_SQTT_RDNA4(X) TGC_SQTT_CDNA(X)
#undef X
  Count
};

struct PacketType {
  PacketId id;
  std::string_view name;
  uint8_t mask_bits, encoding, num_nibbles, delta_low_bit, delta_bits;
  std::array<PacketField, 12> fields;

  // Returns 0 if the packet has no such field.
  uint64_t field(uint64_t bits, std::string_view field_name) const;
};
const PacketType& packet_type(PacketId id);

enum class SqttLayout : uint8_t { Cdna = 0, Rdna3 = 3, Rdna4 = 4 };

// Returns tinygrad's name of an operation (InstOp, InstOpRDNA4, InstOpCDNA); a text such as "0x10" if it has none.
std::string inst_op_name(SqttLayout layout, uint32_t op);

// Mask: instructions of a mask of waves. Snapshot: written by all shader engines at the same time.
enum class PacketAction : uint8_t { None, Instruction, Mask, Start, End, Snapshot, Header, Marker, Timestamp };

struct alignas(16) DecodeRow {
  uint8_t num_nibbles = 1;
  // lowest bit of the time difference; what is added to it
  uint8_t delta_low_bit = 0, time_added = 0;
  PacketAction action = PacketAction::None;
  uint16_t time_delta_mask = 0;
  PacketId packet = PacketId::NOP;
  uint8_t count_low_bit = 0;    // lowest bit of an instruction's operation
  uint16_t count_mask = 0;      // 0: the packet has no operation
  uint16_t count_base = 0;      // first counter (SqttSummary::counter_values) of this packet
  uint8_t wave_low_bit = 0;
};
struct PacketDecodeTable {
  std::array<DecodeRow, 256> rows;
  std::array<uint8_t, 256> num_nibbles;  // DecodeRow::num_nibbles, but faster to look up
  SqttLayout layout;
};
const PacketDecodeTable& packet_decode_table(SqttLayout layout);

// Counters: one for each packet type without an operation, and in each layout one for each operation.
inline constexpr uint32_t kNumOpCounters = 256;
inline constexpr uint32_t kNumCounters = uint32_t(PacketId::Count) + 3 * kNumOpCounters;
constexpr uint32_t first_op_counter(SqttLayout layout) {
  return uint32_t(PacketId::Count) + kNumOpCounters * (layout == SqttLayout::Rdna3   ? 0
                                                       : layout == SqttLayout::Rdna4 ? 1
                                                                                     : 2);
}

struct PacketView {
  uint64_t bits = 0;   // low 64 bits; a shorter packet is followed by bits of the next ones
  int64_t time = 0;    // cycles since the beginning of the trace
  const DecodeRow* row = nullptr;
  SqttLayout layout = SqttLayout::Rdna3;
};

// Calls visit(const PacketView&) for each packet, but for those that begin in the last 15 nibbles.
template <class Visit>
inline void decode_sqtt(std::span<const uint8_t> blob, Visit&& visit) {
  const uint64_t size = 2 * uint64_t(blob.size());
  if (size < 16) return;
  const uint8_t* bytes = blob.data();
  const PacketDecodeTable* table = &packet_decode_table(SqttLayout::Rdna3);
  const DecodeRow* rows = table->rows.data();
  const uint8_t* num_nibbles = table->num_nibbles.data();
  bool has_offset = false;
  int64_t offset = 0;
  PacketView p;
  for (uint64_t at = 0; at <= size - 16;) {
    const uint8_t* from = bytes + (at >> 1);
    const uint64_t odd = at & 1;
    uint64_t bits;
    std::memcpy(&bits, from + odd, 8);
    bits = (bits << (4 * odd)) | ((*from >> 4) & (0 - odd));
    const DecodeRow* row = &rows[bits & 0xff];
    uint64_t size_of_packet = num_nibbles[bits & 0xff];
    p.bits = bits;
    p.time += int64_t(((bits >> row->delta_low_bit) & row->time_delta_mask) + row->time_added);
    if (row->action < PacketAction::Header) [[likely]] {
    } else if (row->action == PacketAction::Marker) {
      bool is_rdna4 = table->layout == SqttLayout::Rdna4;
      bool rt = bits >> (is_rdna4 ? 7 : 9) & 1, pl = bits >> 8 & 1;
      if (!rt || pl) p.time += int64_t(is_rdna4 ? bits >> 12 : bits >> 12 & ((uint64_t(1) << 36) - 1));
    } else if (row->action == PacketAction::Timestamp) {
      int64_t stamp = int64_t(bits >> 16);
      if (!(bits >> 4 & 0xfff)) {
        if (has_offset) p.time = ((stamp - offset) & ~int64_t(3)) - 4;
        else has_offset = true, offset = stamp - p.time;
      }
    } else {
      uint64_t layout = bits >> 7 & 63;
      if (layout == 4) {
        table = &packet_decode_table(SqttLayout::Rdna4);
      } else if (layout != 3) {
        // the trace is of CDNA, whose table decodes this packet again
        table = &packet_decode_table(SqttLayout::Cdna);
        row = &table->rows[bits & 0xff];
        if (row->action == PacketAction::Timestamp && !(bits >> 4 & 0xfff))
          has_offset = true, offset = int64_t(bits >> 16) - p.time;
      }
      rows = table->rows.data(), num_nibbles = table->num_nibbles.data();
      size_of_packet = row->num_nibbles;
    }
    p.row = row;
    p.layout = table->layout;
    at += size_of_packet;
    visit(static_cast<const PacketView&>(p));
  }
}

}  // namespace tgc::profile
