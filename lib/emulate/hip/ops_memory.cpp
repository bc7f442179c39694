#include <algorithm>

#include "lib/emulate/hip/access.h"

namespace tgc::hip {
namespace {

// How a lane's bytes in memory map to its registers.
enum class RegisterForm : uint8_t { Words, U8, I8, U16, I16, Low8, LowI8, High8, HighI8, Low16, High16 };

u32 extend_value(const std::byte* from, RegisterForm form, u32 before) {
  uint8_t byte;
  uint16_t two;
  std::memcpy(&byte, from, 1);
  bool is_byte = form == RegisterForm::U8 || form == RegisterForm::I8 ||
                 (form >= RegisterForm::Low8 && form <= RegisterForm::HighI8);
  if (!is_byte) std::memcpy(&two, from, 2);
  switch (form) {
    case RegisterForm::U8: return byte;
    case RegisterForm::I8: return u32(int32_t(int8_t(byte)));
    case RegisterForm::U16: return two;
    case RegisterForm::I16: return u32(int32_t(int16_t(two)));
    case RegisterForm::Low8: return (before & 0xffff0000) | byte;
    case RegisterForm::LowI8: return (before & 0xffff0000) | uint16_t(int16_t(int8_t(byte)));
    case RegisterForm::High8: return (before & 0xffff) | u32(byte) << 16;
    case RegisterForm::HighI8: return (before & 0xffff) | u32(uint16_t(int16_t(int8_t(byte)))) << 16;
    case RegisterForm::Low16: return (before & 0xffff0000) | two;
    case RegisterForm::High16: return (before & 0xffff) | u32(two) << 16;
    default: return before;
  }
}

template <Space kSpace, RegisterForm kForm>
void run_load(Wave& w, const Op& o) {
  if (w.exec() == 0) return;
  LaneAddresses at;
  resolve_addresses<kSpace>(w, o, Access::Load, at);
  if constexpr (kForm == RegisterForm::Words) {
    if (at.is_contiguous && o.num_words == 1) {
      for (u32 half = 0; half < w.num_halves; half++)
        std::memcpy(w.vector(o.to, half), reinterpret_cast<void*>(at.host[half * kNumLanes]), kNumLanes * sizeof(u32));
      return;
    }
    for (u32 word = 0; word < o.num_words; word++)
      for (u32 half = 0; half < w.num_halves; half++) {
        u32 active = w.exec(half), *to = w.vector(o.to + word, half);
        const uint64_t* from = at.host + half * kNumLanes;
        for (int i = 0; i < kNumLanes; i++)
          if (active >> i & 1) std::memcpy(to + i, reinterpret_cast<std::byte*>(from[i]) + 4 * word, 4);
      }
  } else {
    for_each_active_lane(w, [&](u32 lane) {
      u32& to = w.lane(o.to, lane);
      to = extend_value(reinterpret_cast<std::byte*>(at.host[lane]), kForm, to);
    });
  }
}

template <Space kSpace, bool kHigh>
void run_store(Wave& w, const Op& o) {
  if (w.exec() == 0) return;
  LaneAddresses at;
  resolve_addresses<kSpace>(w, o, Access::Store, at);
  if (at.is_contiguous && o.bytes == 4) {
    for (u32 half = 0; half < w.num_halves; half++)
      std::memcpy(reinterpret_cast<void*>(at.host[half * kNumLanes]), w.vector(o.b.register_index, half),
                  kNumLanes * sizeof(u32));
    return;
  }
  for_each_active_lane(w, [&](u32 lane) {
    std::byte* to = reinterpret_cast<std::byte*>(at.host[lane]);
    if (o.bytes < 4) {
      u32 value = w.lane(o.b.register_index, lane) >> (kHigh ? 16 : 0);
      std::memcpy(to, &value, o.bytes);
    } else {
      for (u32 word = 0; word < o.num_words; word++)
        std::memcpy(to + 4 * word, &w.lane(o.b.register_index + word, lane), 4);
    }
  });
}

void build_access(CodeBuilder& b) {
  allow_memory_modifiers(b);
  Space space = space_of_name(b.name);
  bool stores = b.row->to == Type::None;
  Op op = b.make_op(b.row->run_op);
  op.bytes = b.row->count, op.num_words = uint8_t(std::max(1, op.bytes / 4));
  bool has_scalar = space == Space::Global || space == Space::Private;
  size_t address = stores ? 0 : 1, last = 2;
  set_address(b, op, space, b.operand(address), has_scalar ? &b.operand(last) : nullptr);
  if (stores) op.b = SourceOperand{.register_index = b.vector_register(b.operand(1), op.num_words), .is_vector = true};
  else op.to = b.vector_register(b.operand(0), op.num_words);
  // since gfx10, stores have a counter of their own; gfx9 counts them with the loads
  op.counter = space == Space::Lds                       ? WaitCounter::Lds
               : stores && b.code.family != GpuFamily::Gfx9 ? WaitCounter::Store
                                                         : WaitCounter::Load;
  op.is_load = !stores;
  b.emit_op(op);
}

// Builds the two accesses of "ds_load_2addr_b32 v[0:1], v2 offset0:1 offset1:3" or "ds_store_2addr_b32 v0, v1, v2". The
// offsets count elements (with st64, units of 64 elements).
void build_two_accesses(CodeBuilder& b) {
  b.allow_modifiers({"offset0", "offset1", "gds"});
  bool stores = b.row->to == Type::None;
  int scale = b.row->count * ((b.name.find("st64") != b.name.npos || b.name.find("stride64") != b.name.npos) ? 64 : 1);
  u32 words = u32(b.row->count) / 4;
  uint16_t to = stores ? 0 : b.vector_register(b.operand(0), 2 * words);
  size_t first = b.code.ops.size();
  for (u32 n = 0; n < 2; n++) {
    Op op = b.make_op(b.row->run_op);
    op.bytes = b.row->count, op.num_words = uint8_t(words);
    set_address(b, op, Space::Lds, b.operand(stores ? 0 : 1), nullptr);
    op.offset = int32_t(b.instruction->modifier_value(n ? "offset1" : "offset0")) * scale;
    if (stores) op.b = SourceOperand{.register_index = b.vector_register(b.operand(1 + n), words), .is_vector = true};
    else op.to = uint16_t(to + n * words);
    op.counter = WaitCounter::Lds, op.is_load = !stores;
    b.emit_op(op);
  }
  // swap the two loads if the first one would overwrite the address register of the second one
  Op &one = b.code.ops[first], &two = b.code.ops[first + 1];
  if (!stores && one.a.register_index >= one.to && one.a.register_index < one.to + words) std::swap(one, two);
}

template <Space kSpace>
void add_access_rows(OpcodeTable& t, const std::string& prefix, const char* load, const char* store) {
  auto row = [&](const std::string& names, OpFunction run, Type to, uint8_t bytes) {
    std::string all;
    for (size_t at = 0; at < names.size();) {
      size_t blank = std::min(names.find(' ', at), names.size());
      all += prefix + names.substr(at, blank - at) + " ";
      at = blank + 1;
    }
    all.pop_back();
    add_row(t, all, {.run_op = run, .to = to, .count = bytes, .is_vector = true, .build_ops = build_access});
  };
  auto loads = [&](const std::string& names, OpFunction run, uint8_t bytes) { row(names, run, Type::U32, bytes); };
  auto stores = [&](const std::string& names, OpFunction run, uint8_t bytes) { row(names, run, Type::None, bytes); };
  std::string l = load, s = store;
  auto both = [](const std::string& verb, const std::string& a, const std::string& b) {
    return verb + a + " " + verb + b;
  };
  loads(both(l, "b32", "dword"), run_load<kSpace, RegisterForm::Words>, 4);
  loads(both(l, "b64", "dwordx2"), run_load<kSpace, RegisterForm::Words>, 8);
  loads(both(l, "b96", "dwordx3"), run_load<kSpace, RegisterForm::Words>, 12);
  loads(both(l, "b128", "dwordx4"), run_load<kSpace, RegisterForm::Words>, 16);
  loads(both(l, "u8", "ubyte"), run_load<kSpace, RegisterForm::U8>, 1);
  loads(both(l, "i8", "sbyte"), run_load<kSpace, RegisterForm::I8>, 1);
  loads(both(l, "u16", "ushort"), run_load<kSpace, RegisterForm::U16>, 2);
  loads(both(l, "i16", "sshort"), run_load<kSpace, RegisterForm::I16>, 2);
  loads(both(l, "d16_u8", "ubyte_d16"), run_load<kSpace, RegisterForm::Low8>, 1);
  loads(both(l, "d16_i8", "sbyte_d16"), run_load<kSpace, RegisterForm::LowI8>, 1);
  loads(both(l, "d16_hi_u8", "ubyte_d16_hi"), run_load<kSpace, RegisterForm::High8>, 1);
  loads(both(l, "d16_hi_i8", "sbyte_d16_hi"), run_load<kSpace, RegisterForm::HighI8>, 1);
  loads(both(l, "d16_b16", "short_d16"), run_load<kSpace, RegisterForm::Low16>, 2);
  loads(both(l, "d16_hi_b16", "short_d16_hi"), run_load<kSpace, RegisterForm::High16>, 2);
  if (kSpace == Space::Lds) loads("read_u16_d16 load_u16_d16", run_load<kSpace, RegisterForm::Low16>, 2);
  if (kSpace == Space::Lds) loads("read_u16_d16_hi load_u16_d16_hi", run_load<kSpace, RegisterForm::High16>, 2);
  stores(both(s, "b32", "dword"), run_store<kSpace, false>, 4);
  stores(both(s, "b64", "dwordx2"), run_store<kSpace, false>, 8);
  stores(both(s, "b96", "dwordx3"), run_store<kSpace, false>, 12);
  stores(both(s, "b128", "dwordx4"), run_store<kSpace, false>, 16);
  stores(both(s, "b8", "byte"), run_store<kSpace, false>, 1);
  stores(both(s, "b16", "short"), run_store<kSpace, false>, 2);
  stores(both(s, "d16_hi_b8", "byte_d16_hi") + " " + s + "b8_d16_hi", run_store<kSpace, true>, 1);
  stores(both(s, "d16_hi_b16", "short_d16_hi") + " " + s + "b16_d16_hi", run_store<kSpace, true>, 2);
}

void add_two_access_rows(OpcodeTable& t, const std::string& load, const std::string& store) {
  for (uint8_t bytes : {uint8_t(4), uint8_t(8)})
    for (bool far : {false, true}) {
      for (std::string name : {far ? "2st64_" : "2_", far ? "2addr_stride64_" : "2addr_"}) {
        name += bytes == 4 ? "b32" : "b64";
        add_row(t, "ds_" + load + name,
                {.run_op = run_load<Space::Lds, RegisterForm::Words>,
                 .to = Type::U32,
                 .count = bytes,
                 .is_vector = true,
                 .build_ops = build_two_accesses});
        add_row(t, "ds_" + store + name,
                {.run_op = run_store<Space::Lds, false>,
                 .count = bytes,
                 .is_vector = true,
                 .build_ops = build_two_accesses});
      }
    }
}

void run_scalar_load(Wave& w, const Op& o) {
  uint64_t from =
      (uint64_t(w.scalar_registers[o.a.register_index]) | uint64_t(w.scalar_registers[o.a.register_index + 1]) << 32) +
      w.scalar_registers[o.b.register_index] + uint64_t(int64_t(o.offset));
  from &= ~uint64_t(3);
  const MemoryRange* range = find_range(w, o, from, from + 4);
  if (!range) throw_scalar_load_fault(w, o, from);
  // a compiler may widen a load beyond the end of an allocation, so the words beyond the end read as 0
  uint64_t there = std::min<uint64_t>(4u * o.num_words, range->end - from);
  std::memset(w.scalar_registers + o.to, 0, 4u * o.num_words);
  std::memcpy(w.scalar_registers + o.to, reinterpret_cast<void*>(from), there);
  if (w.group->race_detector) check_race(w, o, 0, from, u32(there), Access::Load);
}
void build_scalar_load(CodeBuilder& b) {
  allow_memory_modifiers(b);
  Op op = b.make_op(b.row->run_op, false);
  op.num_words = b.row->count;
  op.to = b.scalar_register(b.operand(0), op.num_words);
  op.a = SourceOperand{.register_index = b.scalar_register(b.operand(1), 2)};
  op.b = b.constant_operand(0, 1);
  const Operand& offset = b.operand(2);
  if (offset.kind == Operand::Scalar) op.b = SourceOperand{.register_index = b.scalar_register(offset, 1)};
  else if (offset.kind == Operand::Integer) op.offset = int32_t(offset.integer);
  op.offset += int32_t(b.instruction->modifier_value("offset"));
  op.counter = WaitCounter::Scalar, op.is_load = true;
  b.emit_op(op);
}

}  // namespace

void add_memory_rows(OpcodeTable& t) {
  add_access_rows<Space::Global>(t, "global_", "load_", "store_");
  add_access_rows<Space::Flat>(t, "flat_", "load_", "store_");
  add_access_rows<Space::Private>(t, "scratch_", "load_", "store_");
  add_access_rows<Space::Lds>(t, "ds_", "load_", "store_");
  add_access_rows<Space::Lds>(t, "ds_", "read_", "write_");
  add_two_access_rows(t, "load_", "store_"), add_two_access_rows(t, "read", "write");
  for (auto [names, words] : {std::pair("s_load_b32 s_load_dword", 1),
                              {"s_load_b64 s_load_dwordx2", 2},
                              {"s_load_b96 s_load_dwordx3", 3},
                              {"s_load_b128 s_load_dwordx4", 4},
                              {"s_load_b256 s_load_dwordx8", 8},
                              {"s_load_b512 s_load_dwordx16", 16}})
    add_row(t, names, {.run_op = run_scalar_load, .count = uint8_t(words), .build_ops = build_scalar_load});
}

}  // namespace tgc::hip
