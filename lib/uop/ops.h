// Ops, sets of ops, axis types and optimizations (tinygrad uop/__init__.py: Ops, GroupOp; uop/ops.py: AxisType;
// codegen/opt/__init__.py: OptOps).
#pragma once
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

namespace tgc {

enum class Op : uint8_t {
#define X(name, ...) name,
#include "lib/uop/ops.def"
#undef X
};
// Number of ops of tinygrad 0.12.0, the first ops of the enum. Stages, rules and specifications handle only these ops.
inline constexpr int kNumOps = int(Op::PTRCAT) + 1;
// Number of all ops in ops.def, with OTHER (see release.h).
inline constexpr int kNumAllOps = int(Op::OTHER) + 1;
static_assert(kNumAllOps <= 128);

std::string_view name_of(Op op);
std::optional<Op> parse_op(std::string_view name);

class OpSet {
 public:
  constexpr OpSet() = default;
  constexpr OpSet(Op op) { add(op); }
  constexpr OpSet(std::initializer_list<Op> ops) {
    for (Op op : ops) add(op);
  }
  static constexpr OpSet all() {  // returns all ops of 0.12.0
    OpSet s;
    for (int i = 0; i < kNumOps; i++) s.add(Op(i));
    return s;
  }

  constexpr void add(Op op) { words_[int(op) >> 6] |= uint64_t(1) << (int(op) & 63); }
  constexpr bool contains(Op op) const { return words_[int(op) >> 6] >> (int(op) & 63) & 1; }
  constexpr bool contains_all(OpSet s) const { return !(s.words_[0] & ~words_[0]) && !(s.words_[1] & ~words_[1]); }
  constexpr bool intersects(OpSet s) const { return (words_[0] & s.words_[0]) || (words_[1] & s.words_[1]); }
  constexpr bool empty() const { return !words_[0] && !words_[1]; }
  constexpr int size() const { return __builtin_popcountll(words_[0]) + __builtin_popcountll(words_[1]); }
  // returns the first op in enum order; the set must not be empty
  constexpr Op first() const { return Op(words_[0] ? __builtin_ctzll(words_[0]) : 64 + __builtin_ctzll(words_[1])); }
  template <class Visit>
  constexpr void for_each(Visit visit) const {
    for (int i = 0; i < kNumAllOps; i++)
      if (contains(Op(i))) visit(Op(i));
  }
  friend constexpr OpSet operator|(OpSet a, OpSet b) {
    return OpSet(a.words_[0] | b.words_[0], a.words_[1] | b.words_[1]);
  }
  friend constexpr OpSet operator-(OpSet a, OpSet b) {
    return OpSet(a.words_[0] & ~b.words_[0], a.words_[1] & ~b.words_[1]);
  }
  friend constexpr bool operator==(const OpSet&, const OpSet&) = default;
  constexpr uint64_t word(int i) const { return words_[i]; }

 private:
  constexpr OpSet(uint64_t low, uint64_t high) : words_{low, high} {}
  uint64_t words_[2] = {0, 0};
};

namespace ops {
inline constexpr OpSet Unary{Op::EXP2, Op::LOG2, Op::SIN, Op::SQRT, Op::RECIPROCAL, Op::NEG, Op::TRUNC};
inline constexpr OpSet Binary{Op::ADD, Op::MUL, Op::IDIV, Op::MAX, Op::MOD, Op::CMPLT, Op::CMPNE, Op::CMPEQ, Op::XOR,
                              Op::SHL, Op::SHR, Op::OR, Op::AND, Op::THREEFRY, Op::SUB, Op::FDIV, Op::POW};
inline constexpr OpSet Ternary{Op::WHERE, Op::MULACC};
inline constexpr OpSet ALU = Unary | Binary | Ternary;
inline constexpr OpSet Elementwise = ALU | OpSet{Op::CAST, Op::BITCAST};
inline constexpr OpSet Defines{Op::DEFINE_GLOBAL, Op::DEFINE_LOCAL, Op::DEFINE_REG};
inline constexpr OpSet Irreducible{Op::CONST, Op::DEFINE_VAR, Op::SPECIAL, Op::RANGE};
inline constexpr OpSet Movement{Op::RESHAPE, Op::EXPAND, Op::PERMUTE, Op::PAD, Op::SHRINK, Op::FLIP};
inline constexpr OpSet Buffer{Op::LOAD, Op::STORE, Op::CONST, Op::DEFINE_VAR};
inline constexpr OpSet Commutative{Op::ADD, Op::MUL, Op::MAX, Op::CMPNE, Op::CMPEQ, Op::XOR, Op::AND, Op::OR};
inline constexpr OpSet Associative{Op::ADD, Op::MUL, Op::AND, Op::OR, Op::MAX};
inline constexpr OpSet Idempotent{Op::OR, Op::AND, Op::MAX};
inline constexpr OpSet Comparison{Op::CMPLT, Op::CMPNE, Op::CMPEQ};
inline constexpr OpSet UnsafePad{Op::RECIPROCAL, Op::LOG2, Op::EXP2, Op::IDIV, Op::POW};  // f(0) may differ from 0
}  // namespace ops

// A node with `op` ends the ranges that are its sources from the returned index on. Returns -1 for ops that
// ops.py:range_start lacks.
constexpr int range_start(Op op) {
  switch (op) {
    case Op::BUFFERIZE:
    case Op::REDUCE:
    case Op::END: return 1;
    case Op::STORE: return 2;
    case Op::WMMA: return 3;
    default: return -1;
  }
}

enum class AxisType : uint8_t {
  GLOBAL, WARP, LOCAL, LOOP, GROUP_REDUCE, REDUCE, UPCAST, UNROLL, THREAD, OUTER, PLACEHOLDER
};
inline constexpr int kNumAxisTypes = 11;
std::string_view name_of(AxisType type);
std::optional<AxisType> parse_axis_type(std::string_view name);
char axis_letter(AxisType type);                                  // returns 'L' for LOOP, '?' for PLACEHOLDER
std::string_view axis_color(AxisType type);                       // returns "WHITE" for LOOP, "" for PLACEHOLDER
int axis_to_pos(AxisType type);                                   // returns tinygrad's sort key; 0 for PLACEHOLDER

enum class OptOps : uint8_t { TC, UPCAST, UNROLL, LOCAL, THREAD, GROUP, GROUPTOP, NOLOCALS, PADTO, SWAP };
inline constexpr int kNumOptOps = 10;
std::string_view name_of(OptOps op);
std::optional<OptOps> parse_opt_op(std::string_view name);

}  // namespace tgc
