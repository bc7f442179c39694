// Atomic instructions. Lanes execute in turn; each operation is atomic with respect to other host threads.
#include "lib/emulate/atomics.h"
#include "lib/emulate/hip/access.h"

namespace tgc::hip {
namespace {

using enum AtomicOp;

template <AtomicOp kOp, class T, Space kSpace>
void run_atomic(Wave& w, const Op& o) {
  if (w.exec() == 0) return;
  LaneAddresses at;
  resolve_addresses<kSpace>(w, o, Access::Atomic, at);
  auto value = [&](u32 register_index, u32 lane) {
    BitsOf<T> out = w.lane(register_index, lane);
    if constexpr (sizeof(T) == 8) out |= uint64_t(w.lane(register_index + 1, lane)) << 32;
    return out;
  };
  for_each_active_lane(w, [&](u32 lane) {
    if (at.host[lane] % sizeof(T))
      throw_fault(w, o, lane, kIllegalAddress,
                  "changes " + hex_text(at.host[lane]) + ", which is no multiple of " + std::to_string(sizeof(T)));
    // for compare-and-swap, second_destination holds the expected value and register b the new value
    BitsOf<T> b = value(kOp == CompareAndSwap ? o.second_destination : o.b.register_index, lane);
    BitsOf<T> old = apply_atomic_op<kOp, T>(at.host[lane], b, value(o.b.register_index, lane));
    if (!o.is_load) return;
    w.lane(o.to, lane) = u32(old);
    if constexpr (sizeof(T) == 8) w.lane(o.to + 1, lane) = u32(old >> 32);
  });
}

// Builds "global_atomic_add_u32 v0, v1, v2, s[0:1]" or "ds_add_rtn_u32 v0, v1, v2". v0, which may be missing, gets the
// old value; v1 is the address and v2 the operand. For compare-and-swap, the operand of a global or flat instruction is
// the new and the expected value in consecutive registers. An LDS instruction has two operands, whose order changed in
// gfx11.
void build_atomic(CodeBuilder& b) {
  allow_memory_modifiers(b);
  Space space = space_of_name(b.name);
  bool is_lds = space == Space::Lds, swaps = b.name.find("cmp") != b.name.npos;
  Op op = b.make_op(b.row->run_op);
  op.bytes = b.row->count, op.num_words = uint8_t(op.bytes / 4);
  size_t least = is_lds ? (swaps ? 3 : 2) : space == Space::Global ? 3 : 2;
  op.is_load = b.num_operands() > least;
  size_t next = 0;
  if (op.is_load) op.to = b.vector_register(b.operand(next++), op.num_words);
  const Operand &address = b.operand(next), &data = b.operand(next + 1);
  set_address(b, op, space, address, space == Space::Global ? &b.operand(next + 2) : nullptr);
  op.b = SourceOperand{.register_index = b.vector_register(data, swaps && !is_lds ? 2u * op.num_words : op.num_words),
                       .is_vector = true};
  op.second_destination = uint16_t(op.b.register_index + op.num_words);
  if (swaps && is_lds) {
    op.second_destination = b.vector_register(b.operand(next + 2), op.num_words);
    if (b.code.family == GpuFamily::Gfx9) std::swap(op.b.register_index, op.second_destination);
  }
  op.counter = is_lds                                            ? WaitCounter::Lds
               : !op.is_load && b.code.family != GpuFamily::Gfx9 ? WaitCounter::Store
                                                                 : WaitCounter::Load;
  b.emit_op(op);
}

// `names` are without the prefix "global_atomic_", "flat_atomic_" or "ds_".
template <AtomicOp kOp, class T>
void add_atomic(OpcodeTable& t, std::initializer_list<const char*> names) {
  OpcodeRow row{.to = Type::U32, .count = sizeof(T), .is_vector = true, .build_ops = build_atomic};
  for (std::string name : names) {
    row.run_op = run_atomic<kOp, T, Space::Global>, add_row(t, "global_atomic_" + name, row);
    row.run_op = run_atomic<kOp, T, Space::Flat>, add_row(t, "flat_atomic_" + name, row);
    row.run_op = run_atomic<kOp, T, Space::Lds>, add_row(t, "ds_" + name, row);
    size_t type = std::min(name.rfind('_'), name.size());  // "_rtn" precedes the type: "ds_add_rtn_u32"
    if (name.starts_with("pk_")) type = name.size() - 4;
    add_row(t, "ds_" + name.substr(0, type) + "_rtn" + name.substr(type), row);
  }
}

}  // namespace

void add_atomic_rows(OpcodeTable& t) {
  add_atomic<Add, u32>(t, {"add_u32", "add"}), add_atomic<Add, uint64_t>(t, {"add_u64", "add_x2"});
  add_atomic<Sub, u32>(t, {"sub_u32", "sub"}), add_atomic<Sub, uint64_t>(t, {"sub_u64", "sub_x2"});
  add_atomic<Min, int32_t>(t, {"min_i32", "smin"}), add_atomic<Min, int64_t>(t, {"min_i64", "smin_x2"});
  add_atomic<Min, u32>(t, {"min_u32", "umin"}), add_atomic<Min, uint64_t>(t, {"min_u64", "umin_x2"});
  add_atomic<Max, int32_t>(t, {"max_i32", "smax"}), add_atomic<Max, int64_t>(t, {"max_i64", "smax_x2"});
  add_atomic<Max, u32>(t, {"max_u32", "umax"}), add_atomic<Max, uint64_t>(t, {"max_u64", "umax_x2"});
  add_atomic<And, u32>(t, {"and_b32", "and"}), add_atomic<And, uint64_t>(t, {"and_b64", "and_x2"});
  add_atomic<Or, u32>(t, {"or_b32", "or"}), add_atomic<Or, uint64_t>(t, {"or_b64", "or_x2"});
  add_atomic<Xor, u32>(t, {"xor_b32", "xor"}), add_atomic<Xor, uint64_t>(t, {"xor_b64", "xor_x2"});
  add_atomic<Increment, u32>(t, {"inc_u32", "inc"}), add_atomic<Increment, uint64_t>(t, {"inc_u64", "inc_x2"});
  add_atomic<Decrement, u32>(t, {"dec_u32", "dec"}), add_atomic<Decrement, uint64_t>(t, {"dec_u64", "dec_x2"});
  add_atomic<Exchange, u32>(t, {"swap_b32", "swap", "storexchg_b32", "wrxchg_b32"});
  add_atomic<Exchange, uint64_t>(t, {"swap_b64", "swap_x2", "storexchg_b64", "wrxchg_b64"});
  add_atomic<CompareAndSwap, u32>(t, {"cmpswap_b32", "cmpswap", "cmpstore_b32", "cmpst_b32"});
  add_atomic<CompareAndSwap, uint64_t>(t, {"cmpswap_b64", "cmpswap_x2", "cmpstore_b64", "cmpst_b64"});
  add_atomic<Add, float>(t, {"add_f32"}), add_atomic<Add, double>(t, {"add_f64"});
  add_atomic<Min, float>(t, {"min_f32", "min_num_f32"}), add_atomic<Max, float>(t, {"max_f32", "max_num_f32"});
  add_atomic<Min, double>(t, {"min_f64"}), add_atomic<Max, double>(t, {"max_f64"});
  add_atomic<Add, HalfPair<AtomicHalf>>(t, {"pk_add_f16"}), add_atomic<Add, HalfPair<AtomicBfloat>>(t, {"pk_add_bf16"});
}

}  // namespace tgc::hip
