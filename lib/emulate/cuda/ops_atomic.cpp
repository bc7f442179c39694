// The instructions atom and red. Lanes execute in turn; each operation is atomic with respect to other host threads.
#include <algorithm>

#include "lib/emulate/atomics.h"
#include "lib/emulate/cuda/access.h"
#include "lib/emulate/cuda/builder.h"

namespace tgc::ptx {
namespace {

using enum AtomicOp;

template <class T, AtomicOp kOp, Space kSpace>
void run_atomic(Warp& w, const Op& o) {
  using U = BitsOf<T>;
  LaneAddresses at;
  if (!resolve_addresses<kSpace>(w, o, sizeof(T), Access::Atomic, at, run_atomic<T, kOp, kSpace>)) return;
  alignas(64) U b[kNumLanes], c[kNumLanes];
  std::memcpy(b, register_lanes<U>(w, o.b), sizeof b);
  std::memcpy(c, register_lanes<U>(w, o.c), sizeof c);
  U* d = o.num_more_operands ? register_lanes<U>(w, o.d) : nullptr;
  for_each_active_lane(w, [&](int i) {
    U old = apply_atomic_op<kOp, T>(at.host[i], b[i], c[i]);
    if (d) d[i] = old;
  });
}

template <class T, AtomicOp kOp>
OpFunction atomic_handler_in_space(Space s) {
  return s == Space::Global    ? run_atomic<T, kOp, Space::Global>
         : s == Space::Shared  ? run_atomic<T, kOp, Space::Shared>
         : s == Space::Generic ? run_atomic<T, kOp, Space::Generic>
                               : nullptr;
}
template <AtomicOp kOp>
OpFunction atomic_handler_of_type(Type t, Space s) {
  constexpr bool kBits = kOp >= And && kOp <= CompareAndSwap, kSum = kOp == Add, kOrder = kOp == Min || kOp == Max;
  constexpr bool kCount = kOp == Increment || kOp == Decrement;
  if constexpr (kBits) {
    if (kOp == CompareAndSwap && t == Type::B16) return atomic_handler_in_space<uint16_t, kOp>(s);
    return t == Type::B32   ? atomic_handler_in_space<uint32_t, kOp>(s)
           : t == Type::B64 ? atomic_handler_in_space<uint64_t, kOp>(s)
                            : nullptr;
  }
  if constexpr (kCount) return t == Type::U32 ? atomic_handler_in_space<uint32_t, kOp>(s) : nullptr;
  if constexpr (kSum || kOrder) {
    if (t == Type::U32) return atomic_handler_in_space<uint32_t, kOp>(s);
    if (t == Type::S32) return atomic_handler_in_space<int32_t, kOp>(s);
    if (t == Type::U64) return atomic_handler_in_space<uint64_t, kOp>(s);
    if (t == Type::S64) return atomic_handler_in_space<int64_t, kOp>(s);
  }
  if constexpr (kSum) {
    if (t == Type::F32) return atomic_handler_in_space<float, kOp>(s);
    if (t == Type::F64) return atomic_handler_in_space<double, kOp>(s);
    if (t == Type::F16) return atomic_handler_in_space<AtomicHalf, kOp>(s);
    if (t == Type::F16x2) return atomic_handler_in_space<HalfPair<AtomicHalf>, kOp>(s);
  }
  return nullptr;
}
struct NamedAtomicOp {
  std::string_view name;
  OpFunction (*run)(Type, Space);
};
constexpr NamedAtomicOp kNamed[] = {
    {"add", atomic_handler_of_type<Add>},       {"min", atomic_handler_of_type<Min>},
    {"max", atomic_handler_of_type<Max>},       {"and", atomic_handler_of_type<And>},
    {"or", atomic_handler_of_type<Or>},         {"xor", atomic_handler_of_type<Xor>},
    {"exch", atomic_handler_of_type<Exchange>}, {"cas", atomic_handler_of_type<CompareAndSwap>},
    {"inc", atomic_handler_of_type<Increment>}, {"dec", atomic_handler_of_type<Decrement>}};

void skip_memory_order(CodeBuilder& b) {
  while (b.accept_any_modifier({"relaxed", "acquire", "release", "acq_rel", "cta", "cluster", "gpu", "sys"}) >= 0) {}
}

void translate_atomic(CodeBuilder& b, bool returns_old_value) {
  skip_memory_order(b);
  Space space = parse_space(b);
  skip_memory_order(b);
  const NamedAtomicOp* named =
      std::ranges::find_if(kNamed, [&](const NamedAtomicOp& n) { return b.accept_modifier(n.name); });
  b.accept_modifier("noftz");
  Type t = b.expect_type();
  b.refuse_more_modifiers();
  bool is_known = named != std::end(kNamed), swaps = is_known && named->name == "cas";
  OpFunction run = is_known ? named->run(t, space) : nullptr;
  if (!run || (!returns_old_value && (swaps || named->name == "exch")))
    b.throw_error("its operation, space or type is not supported");
  size_t first = returns_old_value ? 1 : 0;
  b.check_operand_count(first + (swaps ? 3 : 2));
  Op op{.run = run, .num_more_operands = uint32_t(returns_old_value)};
  set_address(b, b.operand(first), space, op);
  op.b = b.source_register(first + 1, t);
  op.c = swaps ? b.source_register(first + 2, t) : op.b;
  if (returns_old_value) op.d = b.output_register(0, t);
  b.emit_op(op);
}

constexpr OpcodeRow kRows[] = {{"atom", [](CodeBuilder& b) { translate_atomic(b, true); }},
                               {"red", [](CodeBuilder& b) { translate_atomic(b, false); }}};

}  // namespace

std::span<const OpcodeRow> atomic_opcode_rows() { return kRows; }

}  // namespace tgc::ptx
