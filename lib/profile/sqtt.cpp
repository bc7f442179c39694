#include "lib/profile/sqtt.h"

namespace tgc::profile {
namespace {

#include "lib/profile/inst_ops.def"

constexpr uint8_t kLongDeltaNibbles = 18;  // of TS_DELTA_S8_W3 in layout 4

#define TGC_FIELD(name, high, low) PacketField{#name, high, low}
constexpr PacketType kPacketTypes[] = {
#define X(name, bits, encoding, num_nibbles, low, count, ...) \
  {PacketId::name, #name, bits, encoding, num_nibbles, low, count, {__VA_ARGS__}},
    TGC_SQTT_SHARED(X) TGC_SQTT_RDNA3(X) TGC_SQTT_RDNA4(X) TGC_SQTT_CDNA(X)
#undef X
};
static_assert(std::size(kPacketTypes) == size_t(PacketId::Count));

constexpr PacketId kRdna3[] = {
#define X(name, ...) PacketId::name,
    TGC_SQTT_SHARED(X) TGC_SQTT_RDNA3(X)};
// TS_DELTA_S8_W3 has no variant in TGC_SQTT_RDNA4.
constexpr PacketId kRdna4[] = {TGC_SQTT_SHARED(X) PacketId::TS_DELTA_S8_W3, TGC_SQTT_RDNA4(X)};
constexpr PacketId kCdna[] = {TGC_SQTT_CDNA(X) PacketId::LAYOUT_HEADER};
#undef X

PacketAction action_of(PacketId p) {
  switch (p) {
    case PacketId::LAYOUT_HEADER: return PacketAction::Header;
    case PacketId::TS_DELTA_OR_MARK: case PacketId::TS_DELTA_OR_MARK_RDNA4: return PacketAction::Marker;
    case PacketId::CDNA_TIMESTAMP: return PacketAction::Timestamp;
    case PacketId::SNAPSHOT: return PacketAction::Snapshot;
    case PacketId::WAVESTART: case PacketId::WAVESTART_RDNA4: case PacketId::CDNA_WAVESTART: return PacketAction::Start;
    case PacketId::WAVEEND: case PacketId::WAVEEND_RDNA4: case PacketId::CDNA_WAVEEND: return PacketAction::End;
    case PacketId::VALUINST: case PacketId::IMMEDIATE: case PacketId::INST: case PacketId::INST_RDNA4:
      return PacketAction::Instruction;
    case PacketId::IMMEDIATE_MASK: return PacketAction::Mask;
    default: return PacketAction::None;
  }
}

const PacketField* find_field(const PacketType& type, std::string_view name) {
  for (const PacketField& f : type.fields)
    if (f.name && f.name == name) return &f;
  return nullptr;
}

DecodeRow make_decode_row(const PacketType& type, SqttLayout layout) {
  DecodeRow row;
  row.packet = type.id;
  row.action = action_of(type.id);
  row.num_nibbles =
      type.id == PacketId::TS_DELTA_S8_W3 && layout == SqttLayout::Rdna4 ? kLongDeltaNibbles : type.num_nibbles;
  row.delta_low_bit = type.delta_low_bit;
  // decode_sqtt() adds the time difference of a marker, which has more bits
  row.time_delta_mask = row.action == PacketAction::Marker ? 0 : uint16_t((1u << type.delta_bits) - 1);
  if (type.id == PacketId::TS_DELTA_SHORT) row.time_added = 4;
  // the time difference of this packet is in units of 4 cycles
  if (type.id == PacketId::CDNA_MISC) row.delta_low_bit = 2, row.time_delta_mask = 0xff << 2;
  row.count_base = uint16_t(type.id);
  if (const PacketField* op = find_field(type, "op")) {
    row.count_base = uint16_t(first_op_counter(layout));
    row.count_low_bit = op->low, row.count_mask = uint16_t((1u << (op->high - op->low + 1)) - 1);
  }
  if (const PacketField* wave = find_field(type, "wave")) row.wave_low_bit = wave->low;
  return row;
}

// If several encodings match a byte, the one with the most bits is taken; if none does, NOP.
PacketDecodeTable make_decode_table(std::span<const PacketId> packets, SqttLayout layout) {
  PacketDecodeTable table;
  table.layout = layout;
  for (uint32_t byte = 0; byte < 256; byte++) {
    const PacketType* best = &packet_type(PacketId::NOP);
    for (PacketId p : packets) {
      const PacketType& type = packet_type(p);
      bool matches = (byte & ((1u << type.mask_bits) - 1)) == type.encoding;
      if (matches && p != PacketId::NOP && (best->id == PacketId::NOP || type.mask_bits > best->mask_bits))
        best = &type;
    }
    table.rows[byte] = make_decode_row(*best, layout);
    table.num_nibbles[byte] = table.rows[byte].num_nibbles;
  }
  return table;
}

struct NamedOp {
  uint32_t number;
  std::string_view name;
};
#define X(name, number) {number, #name},
constexpr NamedOp kOpsRdna3[] = {TGC_INST_OPS_RDNA3(X)};
constexpr NamedOp kOpsRdna4[] = {TGC_INST_OPS_RDNA4(X)};
constexpr NamedOp kOpsCdna[] = {TGC_INST_OPS_CDNA(X)};
#undef X

// Operations of other SIMDs: number `first_number` is named OTHER_NAME_n with n = `cycles`, the next one has
// n + 1, and so on.
struct OtherSimdOps {
  std::string_view name;
  uint32_t first_number, last_number, cycles;
};
constexpr OtherSimdOps kOtherRdna3[] = {{"LDS", 0x50, 0x54, 1}, {"FLAT", 0x55, 0x59, 2}, {"VMEM", 0x5a, 0x66, 1}};
constexpr OtherSimdOps kOtherRdna4[] = {{"LDS", 0x50, 0x54, 1}, {"FLAT", 0x55, 0x59, 2}, {"VMEM", 0xbc, 0xdd, 1}};

template <class Ops>
std::string_view find_op(const Ops& ops, uint32_t number) {
  for (const NamedOp& op : ops)
    if (op.number == number) return op.name;
  return "";
}

}  // namespace

const PacketType& packet_type(PacketId id) { return kPacketTypes[size_t(id)]; }

uint64_t PacketType::field(uint64_t bits, std::string_view field_name) const {
  const PacketField* f = find_field(*this, field_name);
  return f ? bits >> f->low & ((uint64_t(2) << (f->high - f->low)) - 1) : 0;
}

const PacketDecodeTable& packet_decode_table(SqttLayout layout) {
  static const PacketDecodeTable rdna3 = make_decode_table(kRdna3, SqttLayout::Rdna3),
                                 rdna4 = make_decode_table(kRdna4, SqttLayout::Rdna4),
                                 cdna = make_decode_table(kCdna, SqttLayout::Cdna);
  return layout == SqttLayout::Rdna3 ? rdna3 : layout == SqttLayout::Rdna4 ? rdna4 : cdna;
}

std::string inst_op_name(SqttLayout layout, uint32_t op) {
  std::string_view name = layout == SqttLayout::Rdna3   ? find_op(kOpsRdna3, op)
                          : layout == SqttLayout::Rdna4 ? find_op(kOpsRdna4, op)
                                                    : find_op(kOpsCdna, op);
  if (!name.empty()) return std::string(name);
  if (layout != SqttLayout::Cdna)
    for (const OtherSimdOps& other : layout == SqttLayout::Rdna3 ? kOtherRdna3 : kOtherRdna4)
      if (op >= other.first_number && op <= other.last_number)
        return "OTHER_" + std::string(other.name) + "_" + std::to_string(op - other.first_number + other.cycles);
  constexpr char kHex[] = "0123456789abcdef";
  return std::string("0x") + kHex[op >> 4 & 15] + kHex[op & 15];
}

}  // namespace tgc::profile
