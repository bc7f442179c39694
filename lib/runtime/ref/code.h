// The code that REF runs: a list of instructions over registers in one block of memory. A register is uniform (one
// value) or varying (one value per lane, `chunk` of them side by side); an instruction does its work for all lanes
// before the next one starts, so lanes are always in step and a barrier has nothing to do. Inside: for ref/ alone.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "lib/dtype/dtype.h"
#include "lib/runtime/ref/ref.h"

namespace tgc::ref {

// What a register holds. X(name, C++ type). half, bfloat16 and fp8 values are F32s that are rounded to them after each
// op.
#define TGC_REF_TYPES(X)                                                         \
  X(Bool, uint8_t) X(I8, int8_t) X(U8, uint8_t) X(I16, int16_t) X(U16, uint16_t) \
  X(I32, int32_t) X(U32, uint32_t) X(I64, int64_t) X(U64, uint64_t) X(F32, float) X(F64, double)
enum class Type : uint8_t {
#define X(name, ctype) name,
  TGC_REF_TYPES(X)
#undef X
};
inline constexpr int kNumTypes = 11;
int size_of(Type type);
inline bool is_float(Type type) { return type >= Type::F32; }

// The register type of a dtype's elements; index is I64. Throws Failure for void and pointers.
Type type_of(DType dtype);

// Operations. In brackets what `type` is, where that is not the type of dst and operands.
enum class Opc : uint8_t {
  // dst = a op b
  Add, Sub, Mul, IDiv, Mod, Shl, Shr, And, Or, Xor, Max, FDiv, Pow, Threefry,
  Lt, Ne, Eq,  // [of a and b] dst is a Bool
  // dst = op a
  Neg, Recip, Sqrt, Exp2, Log2, Sin, Trunc, Mov,
  Size,  // a, or 0 where that is negative, which is noted
  // F32 rounded to a narrow float; F64 to a half that an F32 holds; the bits of a narrow float and back
  RoundF16, RoundBF16, RoundE4M3, RoundE5M2, F64ToF16, BitsOfF16, BitsOfBF16, BitsOfE4M3, BitsOfE5M2,
  F16OfBits, BF16OfBits, E4M3OfBits, E5M2OfBits,
  Cast,     // [of dst] type2: of a
  Splat,    // dst varying, a uniform
  Where,    // dst = a ? b : c; a is a Bool
  MulAcc,   // dst = a * b + c
  MaxLane,  // dst uniform = the greatest lane of a
  Fold,     // dst = dst op a[0] op a[1] ...; type2: the op; the rounding of each step is apart
  // memory; imm: which memory, and the access in the upper half. a: offset [type2: I32 or I64], b: gate or none
  Check,    // fails when an offset is outside of one copy of the memory
  Load,     // [as stored: a Scalar] c: what a closed gate gives, or none
  Store,    // [as stored] c: the value
  // lanes and loops
  Axis,       // dst = (lane / a) % b, lane counted over all chunks
  GroupBase,  // dst = (lane of the chunk / group) * imm; group in place of a
  Loop,       // dst counts from 0 to a; imm: where to go when there is nothing to do
  LoopEnd,    // imm: the first instruction of the loop
  // runs to LanesEnd for chunks of the lanes 0..a-1, each whole groups; the group in place of b, imm as for loops
  Lanes,
  LanesEnd,
  Wmma,       // imm: which of Code::wmmas
  Count,      // evaluations to count, in place of a: per lane, imm: once
  Halt,
};

struct Frame;
struct Ins;
// Runs an instruction and returns the next one; null ends the run.
using Fn = const Ins* (*)(Frame&, const Ins*);

// Operands are byte offsets into the frame's registers, -1: none.
struct Ins {
  Fn fn;
  int32_t dst, a, b, c;
  int64_t imm;
};

struct WmmaLayout;  // wmma.h

struct Wmma {
  const WmmaLayout* layout = nullptr;
  std::vector<int32_t> a, b, c, d;  // registers, then their offsets
  bool varying = true;
  Scalar out = Scalar::Float32;
};

struct Memory {
  uint8_t* data = nullptr;
  int64_t size = 0;       // elements, of all copies
  int64_t copy_size = 0;  // of one copy
  uint8_t* stored = nullptr;  // of a buffer that is stored to: whether each element was
};

// What one load or store is, for messages. Registers are offsets in the end.
struct Access {
  struct LaneAxis {
    std::string name;
    int32_t stride, extent;
  };
  std::string text;                                    // "load from data1"
  std::vector<std::pair<std::string, int32_t>> ranges;  // open loops and their counters, outermost first
  std::vector<LaneAxis> axes;
  int32_t memory = 0;
  bool stores = false;
  bool narrow_offset = false, varying = false;
};

struct MemoryInfo {
  std::string name;   // "data1", "local0"
  Scalar scalar = Scalar::Void;
  int64_t size = 0;   // elements of one copy
  int64_t number = -1;  // of a buffer: its DEFINE_GLOBAL; -1: scratch memory
  int64_t group = 0;  // of scratch memory: how many lanes share a copy; 0: there is one copy
};

struct Code {
  std::vector<Ins> ins;
  std::vector<Wmma> wmmas;
  std::vector<Access> accesses;
  std::vector<MemoryInfo> memories;
  std::vector<std::pair<int32_t, uint64_t>> constants;    // offset, bits
  std::vector<std::pair<int32_t, std::string>> variables;  // offset of an I64, name
  int64_t chunk = 1;           // lanes of a varying register
  size_t register_bytes = 0;
};

// The state of a run.
struct Frame {
  uint8_t* registers;
  int64_t n = 1;           // lanes of the current chunk; 1 outside of lanes
  int64_t base = 0;        // the chunk's first lane
  int64_t total = 0;
  int64_t chunk = 1;
  const Ins* code;
  const Memory* memories;
  const Wmma* wmmas;
  RefNotes notes;
  uint64_t evaluations = 0;
  const Ins* failed = nullptr;  // the access that was out of bounds, and in which lane
  int64_t failed_lane = 0;
  int64_t fuel = 0;             // iterations until somebody looks at the time: see `refuel`
  bool exhausted = false;       // a limit ended the run
  struct Budget* budget = nullptr;

  template <class T>
  T* at(int32_t offset) const { return reinterpret_cast<T*>(registers + offset); }
};

// What a run may take (lib/support/limits.h), looked at every so many iterations.
struct Budget {
  static constexpr int64_t kRound = 1 << 16;
  int64_t steps = 0, most_steps = INT64_MAX;
  double deadline = 0;  // of the steady clock, in seconds
};
// Whether the run may go on when its fuel is spent: fills it up, or sets `exhausted`.
bool refuel(Frame& f);
// An iteration over the lanes of the frame; false ends the run.
inline bool step(Frame& f) { return (f.fuel -= f.n) >= 0 || refuel(f); }

// The function for an instruction: operands uniform (one lane) or varying. For Load and Store `type` is a Scalar.
// Null when there is none.
struct Selector {
  Opc op;
  uint8_t type = 0, type2 = 0;
  bool varying = false, a_varying = true, b_varying = true, gated = false;
  Opc rounding = Opc::Mov;  // of a Fold: Mov when there is none
};
Fn select(const Selector& s);
Fn select_binary(const Selector& s);      // exec_binary.cpp
Fn select_float_binary(const Selector& s);  // exec_float.cpp
Fn select_unary(const Selector& s);       // exec_unary.cpp
Fn select_cast(const Selector& s);        // exec_cast.cpp
Fn select_memory(const Selector& s);      // exec_memory.cpp
Fn select_control(const Selector& s);     // exec_control.cpp
const Ins* run_wmma(Frame& f, const Ins* i);  // wmma.cpp

}  // namespace tgc::ref
