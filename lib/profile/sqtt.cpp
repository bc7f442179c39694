#include "lib/profile/sqtt.h"

namespace tgc::profile {
namespace {

#include "lib/profile/inst_ops.def"

constexpr uint8_t kLongDeltaNibbles = 18;  // of TS_DELTA_S8_W3 in layout 4

#define TGC_FIELD(name, high, low) PacketField{#name, high, low}
constexpr PacketType kPacketTypes[] = {
#define X(name, bits, encoding, nibbles, low, count, ...) \
  {Packet::name, #name, bits, encoding, nibbles, low, count, {__VA_ARGS__}},
    TGC_SQTT_SHARED(X) TGC_SQTT_RDNA3(X) TGC_SQTT_RDNA4(X) TGC_SQTT_CDNA(X)
#undef X
};
static_assert(std::size(kPacketTypes) == size_t(Packet::Count));

constexpr Packet kRdna3[] = {
#define X(name, ...) Packet::name,
    TGC_SQTT_SHARED(X) TGC_SQTT_RDNA3(X)};
// TS_DELTA_S8_W3 has no variant in TGC_SQTT_RDNA4.
constexpr Packet kRdna4[] = {TGC_SQTT_SHARED(X) Packet::TS_DELTA_S8_W3, TGC_SQTT_RDNA4(X)};
constexpr Packet kCdna[] = {TGC_SQTT_CDNA(X) Packet::LAYOUT_HEADER};
#undef X

Action action_of(Packet p) {
  switch (p) {
    case Packet::LAYOUT_HEADER: return Action::Header;
    case Packet::TS_DELTA_OR_MARK: case Packet::TS_DELTA_OR_MARK_RDNA4: return Action::Marker;
    case Packet::CDNA_TIMESTAMP: return Action::Timestamp;
    case Packet::SNAPSHOT: return Action::Snapshot;
    case Packet::WAVESTART: case Packet::WAVESTART_RDNA4: case Packet::CDNA_WAVESTART: return Action::Start;
    case Packet::WAVEEND: case Packet::WAVEEND_RDNA4: case Packet::CDNA_WAVEEND: return Action::End;
    case Packet::VALUINST: case Packet::IMMEDIATE: case Packet::INST: case Packet::INST_RDNA4:
      return Action::Instruction;
    case Packet::IMMEDIATE_MASK: return Action::Mask;
    default: return Action::None;
  }
}

const PacketField* find_field(const PacketType& type, std::string_view name) {
  for (const PacketField& f : type.fields)
    if (f.name && f.name == name) return &f;
  return nullptr;
}

DecodeRow make_row(const PacketType& type, Layout layout) {
  DecodeRow row;
  row.packet = type.id;
  row.action = action_of(type.id);
  row.nibbles = type.id == Packet::TS_DELTA_S8_W3 && layout == Layout::Rdna4 ? kLongDeltaNibbles : type.nibbles;
  row.delta_low_bit = type.delta_low_bit;
  // decode_sqtt() adds the time difference of a marker, which has more bits
  row.time_delta_mask = row.action == Action::Marker ? 0 : uint16_t((1u << type.delta_bits) - 1);
  if (type.id == Packet::TS_DELTA_SHORT) row.time_added = 4;
  // in units of 4 cycles
  if (type.id == Packet::CDNA_MISC) row.delta_low_bit = 2, row.time_delta_mask = 0xff << 2;
  row.count_base = uint16_t(type.id);
  if (const PacketField* op = find_field(type, "op")) {
    row.count_base = uint16_t(first_op_counter(layout));
    row.count_low_bit = op->low, row.count_mask = uint16_t((1u << (op->high - op->low + 1)) - 1);
  }
  if (const PacketField* wave = find_field(type, "wave")) row.wave_low_bit = wave->low;
  return row;
}

// If several encodings match a byte, the one with the most bits is taken; if none does, NOP.
PacketDecodeTable make_table(std::span<const Packet> packets, Layout layout) {
  PacketDecodeTable table;
  table.layout = layout;
  for (uint32_t byte = 0; byte < 256; byte++) {
    const PacketType* best = &packet_type(Packet::NOP);
    for (Packet p : packets) {
      const PacketType& type = packet_type(p);
      bool matches = (byte & ((1u << type.mask_bits) - 1)) == type.encoding;
      if (matches && p != Packet::NOP && (best->id == Packet::NOP || type.mask_bits > best->mask_bits)) best = &type;
    }
    table.rows[byte] = make_row(*best, layout);
    table.nibbles[byte] = table.rows[byte].nibbles;
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

// Operations of other SIMDs: number `first` is named OTHER_NAME_n with n = `cycles`, the next ones n + 1, n + 2, ...
struct OtherOps {
  std::string_view name;
  uint32_t first, last, cycles;
};
constexpr OtherOps kOtherRdna3[] = {{"LDS", 0x50, 0x54, 1}, {"FLAT", 0x55, 0x59, 2}, {"VMEM", 0x5a, 0x66, 1}};
constexpr OtherOps kOtherRdna4[] = {{"LDS", 0x50, 0x54, 1}, {"FLAT", 0x55, 0x59, 2}, {"VMEM", 0xbc, 0xdd, 1}};

template <class Ops>
std::string_view find_op(const Ops& ops, uint32_t number) {
  for (const NamedOp& op : ops)
    if (op.number == number) return op.name;
  return "";
}

}  // namespace

const PacketType& packet_type(Packet id) { return kPacketTypes[size_t(id)]; }

uint64_t PacketType::field(uint64_t bits, std::string_view field_name) const {
  const PacketField* f = find_field(*this, field_name);
  return f ? bits >> f->low & ((uint64_t(2) << (f->high - f->low)) - 1) : 0;
}

const PacketDecodeTable& packet_decode_table(Layout layout) {
  static const PacketDecodeTable rdna3 = make_table(kRdna3, Layout::Rdna3), rdna4 = make_table(kRdna4, Layout::Rdna4),
                           cdna = make_table(kCdna, Layout::Cdna);
  return layout == Layout::Rdna3 ? rdna3 : layout == Layout::Rdna4 ? rdna4 : cdna;
}

std::string inst_op_name(Layout layout, uint32_t op) {
  std::string_view name = layout == Layout::Rdna3   ? find_op(kOpsRdna3, op)
                          : layout == Layout::Rdna4 ? find_op(kOpsRdna4, op)
                                                    : find_op(kOpsCdna, op);
  if (!name.empty()) return std::string(name);
  if (layout != Layout::Cdna)
    for (const OtherOps& other : layout == Layout::Rdna3 ? kOtherRdna3 : kOtherRdna4)
      if (op >= other.first && op <= other.last)
        return "OTHER_" + std::string(other.name) + "_" + std::to_string(op - other.first + other.cycles);
  constexpr char kHex[] = "0123456789abcdef";
  return std::string("0x") + kHex[op >> 4 & 15] + kHex[op & 15];
}

}  // namespace tgc::profile
