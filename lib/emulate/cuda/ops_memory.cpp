#include "lib/emulate/cuda/access.h"
#include "lib/emulate/cuda/builder.h"
#include "lib/emulate/cuda/lanes.h"

namespace tgc::ptx {
namespace {

template <class T, int N, Space kSpace>
void run_load(Warp& w, const Op& o) {
  LaneAddresses at;
  if (!resolve_addresses<kSpace>(w, o, uint32_t(sizeof(T) * N), Access::Load, at, run_load<T, N, kSpace>, sizeof(T)))
    return;
  for (int n = 0; n < N; n++) {
    uint32_t place = N == 1 ? o.d : w.operands[o.more_operands + uint32_t(n)];
    T* d = register_lanes<T>(w, place);
    if (N == 1 && at.is_contiguous && w.active_lanes == UINT32_MAX) {
      std::memcpy(d, reinterpret_cast<const void*>(at.host[0]), sizeof(T) * kNumLanes);
      return;
    }
    alignas(64) T t[kNumLanes];
    for (int i = 0; i < kNumLanes; i++) t[i] = reinterpret_cast<const T*>(at.host[i])[n];
    write_lanes<T>(w, place, [&](int i) { return t[i]; });
  }
}

template <class T, int N, Space kSpace>
void run_store(Warp& w, const Op& o) {
  LaneAddresses at;
  if (!resolve_addresses<kSpace>(w, o, uint32_t(sizeof(T) * N), Access::Store, at, run_store<T, N, kSpace>)) return;
  for (int n = 0; n < N; n++) {
    const T* a = register_lanes<T>(w, N == 1 ? o.b : w.operands[o.more_operands + uint32_t(n)]);
    if (N == 1 && at.is_contiguous && w.active_lanes == UINT32_MAX) {
      std::memcpy(reinterpret_cast<void*>(at.host[0]), a, sizeof(T) * kNumLanes);
      return;
    }
    for_each_active_lane(w, [&](int i) { reinterpret_cast<T*>(at.host[i])[n] = a[i]; });
  }
}

template <class T, int N, Space kSpace>
void run_byte_load(Warp& w, const Op& o) {
  LaneAddresses at;
  if (!resolve_addresses<kSpace>(w, o, N, Access::Load, at, run_byte_load<T, N, kSpace>, 1)) return;
  for (int n = 0; n < N; n++)
    write_lanes<uint16_t>(w, N == 1 ? o.d : w.operands[o.more_operands + uint32_t(n)],
                          [&](int i) { return uint16_t(reinterpret_cast<const T*>(at.host[i])[n]); });
}
template <int N, Space kSpace>
void run_byte_store(Warp& w, const Op& o) {
  LaneAddresses at;
  if (!resolve_addresses<kSpace>(w, o, N, Access::Store, at, run_byte_store<N, kSpace>)) return;
  for (int n = 0; n < N; n++) {
    const uint16_t* a = register_lanes<uint16_t>(w, N == 1 ? o.b : w.operands[o.more_operands + uint32_t(n)]);
    for_each_active_lane(w, [&](int i) { reinterpret_cast<uint8_t*>(at.host[i])[n] = uint8_t(a[i]); });
  }
}

template <int N, Space kSpace>
OpFunction access_handler(Type t, bool stores) {
  switch (bits(t)) {
    case 8:
      return stores         ? run_byte_store<N, kSpace>
             : is_signed(t) ? run_byte_load<int8_t, N, kSpace>
                            : run_byte_load<uint8_t, N, kSpace>;
    case 16: return stores ? run_store<uint16_t, N, kSpace> : run_load<uint16_t, N, kSpace>;
    case 32: return stores ? run_store<uint32_t, N, kSpace> : run_load<uint32_t, N, kSpace>;
    case 64: return stores ? run_store<uint64_t, N, kSpace> : run_load<uint64_t, N, kSpace>;
    case 128:
      return N > 1    ? nullptr
             : stores ? run_store<unsigned __int128, 1, kSpace>
                      : run_load<unsigned __int128, 1, kSpace>;
    default: return nullptr;
  }
}
template <Space kSpace>
OpFunction access_handler(Type t, int n, bool stores) {
  return n == 1   ? access_handler<1, kSpace>(t, stores)
         : n == 2 ? access_handler<2, kSpace>(t, stores)
         : n == 4 ? access_handler<4, kSpace>(t, stores)
                  : access_handler<8, kSpace>(t, stores);
}
OpFunction access_handler(Space space, Type t, int n, bool stores) {
  switch (space) {
    case Space::Global:
    case Space::Const: return access_handler<Space::Global>(t, n, stores);
    case Space::Shared: return access_handler<Space::Shared>(t, n, stores);
    case Space::Local: return access_handler<Space::Local>(t, n, stores);
    default: return access_handler<Space::Generic>(t, n, stores);
  }
}

void load_parameter(CodeBuilder& b, Type t, int n) {
  const Operand& from = b.operand(1);
  const Variable* p = from.kind == Operand::Address && from.reg < 0 ? b.find_parameter(from.name) : nullptr;
  if (!p) b.throw_error("its address is not a parameter of the kernel");
  uint64_t bytes = bits(t) / 8, at = from.bits;
  if (at > p->bytes || bytes * uint64_t(n) > p->bytes - at)
    b.throw_error("it reads beyond the parameter '" + std::string(p->name) + "'");
  if (t == Type::S8) b.throw_error("parameters of type .s8 are not supported");
  std::vector<uint32_t> to = n == 1 ? std::vector{b.output_register(0, t, WidthRule::Wider)}
                                    : b.output_registers(b.operand(0), size_t(n), t, WidthRule::Wider);
  for (size_t k = 0; k < size_t(n); k++) {
    uint32_t value = b.parameter_register(uint32_t(p->offset + at + k * bytes), unsigned(bytes));
    b.emit_op({.run = narrowing_handler(register_bits(t), register_bits(t)), .d = to[k], .a = value});
  }
}

// Memory ordering and caching have no effect, because caches are not emulated.
void skip_cache_hints(CodeBuilder& b) {
  while (b.accept_any_modifier({"weak", "relaxed", "acquire", "release", "volatile", "cta", "cluster", "gpu", "sys",
                        "nc", "ca", "cg", "cs", "lu", "cv", "wb", "wt",
                        "L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last",
                        "L1::no_allocate", "L2::64B", "L2::128B", "L2::256B"}) >= 0) {
  }
}

void translate_access(CodeBuilder& b, bool stores) {
  skip_cache_hints(b);
  Space space = parse_space(b);
  skip_cache_hints(b);
  static constexpr int kCounts[] = {1, 2, 4, 8};
  int n = kCounts[b.accept_any_modifier({"v2", "v4", "v8"}) + 1];
  Type t = b.expect_type();
  b.refuse_more_modifiers();
  b.check_operand_count(2);
  if (t == Type::Pred || info_of_type(t).count == 2 || bits(t) * unsigned(n) > 256)
    b.throw_type_error(t);
  if (space == Space::Param) {
    if (stores) b.throw_error("parameters cannot be stored");
    return load_parameter(b, t, n);
  }
  if (stores && space == Space::Const) b.throw_error("constant memory cannot be stored");
  Op op{.run = access_handler(space, t, n, stores)};
  if (!op.run) b.throw_error("a vector of ." + std::string(ptx_name(t)));
  set_address(b, b.operand(stores ? 0 : 1), space, op);
  if (n == 1) {
    if (stores) op.b = b.source_register(1, t, WidthRule::Wider);
    else op.d = b.output_register(0, t, WidthRule::Wider);
    return b.emit_op(op);
  }
  if (stores) b.emit_op(op, {}, b.source_registers(b.operand(1), size_t(n), t, WidthRule::Wider));
  else b.emit_op(op, b.output_registers(b.operand(0), size_t(n), t, WidthRule::Wider), {});
}

constexpr OpcodeRow kRows[] = {
    {"ld", [](CodeBuilder& b) { translate_access(b, false); }},
    {"ldu", [](CodeBuilder& b) { translate_access(b, false); }},
    {"st", [](CodeBuilder& b) { translate_access(b, true); }},
};

}  // namespace

Space parse_space(CodeBuilder& b) {
  int n = b.accept_any_modifier({"global", "const", "shared", "local", "param", "shared::cta"});
  static constexpr Space kSpaces[] = {Space::Generic, Space::Global, Space::Const, Space::Shared,
                                      Space::Local,   Space::Param,  Space::Shared};
  return kSpaces[n + 1];
}

void set_address(CodeBuilder& b, const Operand& o, Space space, Op& op) {
  if (o.kind != Operand::Address) b.throw_error("an operand is no address", "[...]");
  op.immediate = int64_t(o.bits);
  if (o.reg >= 0) {
    Operand r{.kind = Operand::Reg, .reg = o.reg};
    bool is_wide = bits(b.code().function->registers[size_t(o.reg)].type) == 64;
    if (is_wide) {
      op.a = b.source_register(r, Type::B64);
      return;
    }
    if (space == Space::Generic) b.throw_error("a generic address of 32 bits");
    uint32_t narrow = b.source_register(r, Type::B32);
    op.a = b.temporary_register(64);
    return b.emit_op({.run = widening_handler(32, 64, false), .d = op.a, .a = narrow});
  }
  if (!o.name.empty()) {
    CodeBuilder::VariableAddress place = b.variable(o.name);
    bool fits = place.space == space || (space == Space::Const && place.space == Space::Global);
    if (!fits && space != Space::Generic) b.throw_error("'" + std::string(o.name) + "' lies in another space");
    op.immediate += int64_t(place.address);
    if (space == Space::Generic)
      op.immediate += int64_t(place.space == Space::Shared  ? kSharedWindowAddress
                              : place.space == Space::Local ? kLocalWindowAddress
                                                        : 0);
  }
  op.a = b.constant_register(0, 64);
}

std::span<const OpcodeRow> memory_opcode_rows() { return kRows; }

}  // namespace tgc::ptx
