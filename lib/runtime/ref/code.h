// The code that REF runs: instructions on registers in one block of memory. A lane is one iteration of axes that run
// side by side, such as a thread of a workgroup. A register is uniform (one value) or varying (one value per lane,
// `num_chunk_lanes` of them side by side). An instruction completes for all lanes of the chunk before the next one
// starts, so lanes run in lockstep and barriers need no code. Internal to ref/.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "lib/dtype/dtype.h"
#include "lib/runtime/ref/ref.h"
#include "lib/support/deadline.h"

namespace tgc::ref {

// half, bfloat16 and fp8 values are F32s, rounded to their dtype after each op.
#define TGC_REF_TYPES(X)                                                         \
  X(Bool, uint8_t) X(I8, int8_t) X(U8, uint8_t) X(I16, int16_t) X(U16, uint16_t) \
  X(I32, int32_t) X(U32, uint32_t) X(I64, int64_t) X(U64, uint64_t) X(F32, float) X(F64, double)
enum class RefType : uint8_t {
#define X(name, ctype) name,
  TGC_REF_TYPES(X)
#undef X
};
inline constexpr int kNumRefTypes = 11;
int size_of_type(RefType type);
inline bool is_float(RefType type) { return type >= RefType::F32; }

// Returns I64 for index. Throws Failure for a dtype without values, such as void.
RefType ref_type_of(DType dtype);

// In the comments, dst and imm are RefInstruction's `destination` and `immediate`, and [type] and [type2] are
// FunctionSelector's. The type is that of dst and of the operands, unless a comment says otherwise.
enum class Opcode : uint8_t {
  // dst = a op b
  Add, Sub, Mul, IDiv, Mod, Shl, Shr, And, Or, Xor, Max, FDiv, Pow, Threefry,
  Lt, Ne, Eq,  // [type: that of a and b] dst is a Bool
  // dst = op a
  Neg, Recip, Sqrt, Exp2, Log2, Sin, Trunc, Mov,
  Size,  // dst = max(a, 0); counts a negative `a` in UndefinedOpCounts
  // rounding of an F32 to a narrow float; F64 to a half in an F32; conversions of narrow floats to bits and back
  RoundF16, RoundBF16, RoundE4M3, RoundE5M2, F64ToF16, BitsOfF16, BitsOfBF16, BitsOfE4M3, BitsOfE5M2,
  F16OfBits, BF16OfBits, E4M3OfBits, E5M2OfBits,
  Cast,     // [type: that of dst, type2: that of a]
  Splat,    // each lane of dst = a; dst is varying, a uniform
  Where,    // dst = a ? b : c; a is a Bool
  MulAcc,   // dst = a * b + c
  MaxLane,  // dst = the maximum over the lanes of a; dst is uniform
  Fold,     // dst = dst op a[0] op a[1] ...; type2: the op; FunctionSelector::rounding: the rounding of each step
  // Memory accesses. imm: memory index | access index << 32; a: offset [type2: I32 or I64]; b: condition, -1 for none
  Check,    // fails if an offset is outside one copy of the memory
  Load,     // [type: Scalar in memory] c: the value if condition b is false (without c: 0)
  Store,    // [type: Scalar in memory] c: the value to store
  Axis,       // dst = (lane / a) % b; `lane` is the number among all lanes, not in the chunk
  GroupBase,  // dst = (lane within the chunk / a) * imm; a: lanes per group (a number, not a register)
  Loop,       // dst counts from 0 to a - 1; imm: jump target if a <= 0
  LoopEnd,    // imm: the first instruction of the loop's body
  // Runs the code up to LanesEnd once for each chunk of the lanes 0..a-1. b: number of lanes per group; a chunk holds
  // whole groups. imm: jump target if a <= 0
  Lanes,
  LanesEnd,
  Wmma,  // imm: index into RefCode::wmmas
  Count,      // adds (number of lanes * a + imm) to RefResult::num_evaluations; `a` is a number
  Halt,
};

struct RefFrame;
struct RefInstruction;
using InstructionFunction = const RefInstruction* (*)(RefFrame&, const RefInstruction*);

// Operands are byte offsets into the frame's registers, unless Opcode calls one a number; -1: none.
struct RefInstruction {
  InstructionFunction function;
  int32_t destination, a, b, c;
  int64_t immediate;
};

struct WmmaLayout;

struct WmmaOperands {
  const WmmaLayout* wmma_layout = nullptr;
  std::vector<int32_t> a, b, c, d;  // registers; finish_kernel_code() makes them byte offsets
  bool is_varying = true;
  Scalar result_scalar = Scalar::Float32;
};

struct RefMemory {
  uint8_t* data = nullptr;
  int64_t size = 0;
  int64_t elements_per_copy = 0;
  uint8_t* stored_flags = nullptr;  // for each element of a buffer with stores, 1 once it is stored to; else null
};

// A load or store, for error messages. finish_kernel_code() replaces its registers by byte offsets.
struct MemoryAccess {
  struct LaneAxis {
    std::string name;
    int32_t stride, extent;
  };
  std::string text;
  std::vector<std::pair<std::string, int32_t>> ranges;  // names and counters of the open loops, outermost first
  std::vector<LaneAxis> axes;
  int32_t memory = 0;
  bool is_store = false;
  bool has_narrow_offset = false, is_varying = false;
};

struct MemoryInfo {
  std::string name;
  Scalar scalar = Scalar::Void;
  int64_t size = 0;             // elements of one copy; negative for a buffer of any size
  int64_t buffer_number = -1;   // the DEFINE_GLOBAL number of a buffer; -1 for scratch memory
  int64_t lane_group_size = 0;  // for scratch memory: number of lanes that share a copy; 0: a single copy
};

struct RefCode {
  std::vector<RefInstruction> instructions;
  std::vector<WmmaOperands> wmmas;
  std::vector<MemoryAccess> accesses;
  std::vector<MemoryInfo> memories;
  std::vector<std::pair<int32_t, uint64_t>> constants;     // register's byte offset, bits of the value
  std::vector<std::pair<int32_t, std::string>> variables;  // I64 register's byte offset, variable's name
  int64_t num_chunk_lanes = 1;
  size_t register_bytes = 0;
};

struct RefFrame {
  uint8_t* registers;
  int64_t num_lanes = 1;   // number of lanes in the current chunk; 1 outside of Lanes sections
  int64_t first_lane = 0;
  int64_t num_total_lanes = 0;
  int64_t num_chunk_lanes = 1;
  const RefInstruction* code;
  const RefMemory* memories;
  const WmmaOperands* wmmas;
  UndefinedOpCounts run_notes;
  uint64_t num_evaluations = 0;
  const RefInstruction* failed_access = nullptr;  // the access that was out of bounds, or null
  int64_t failed_lane = 0;
  int64_t iterations_left = 0;  // iterations until check_run_limits() checks the limits
  bool is_limit_exceeded = false;
  struct RunBudget* run_budget = nullptr;

  template <class T>
  T* register_at(int32_t offset) const { return reinterpret_cast<T*>(registers + offset); }
};

// Limits of a run, checked every kStepsPerCheck iterations.
struct RunBudget {
  static constexpr int64_t kStepsPerCheck = 1 << 16;
  int64_t num_steps = 0, max_steps = INT64_MAX;
  Clock::time_point deadline;
};
// Called when `iterations_left` is used up. Sets it again and returns true; if a limit is exceeded, sets
// `is_limit_exceeded` and returns false.
bool check_run_limits(RefFrame& f);
// Returns false if a limit ends the run.
inline bool count_step(RefFrame& f) { return (f.iterations_left -= f.num_lanes) >= 0 || check_run_limits(f); }

// The key of an instruction's function. For Load and Store, `type` is a Scalar. find_function() returns null if there
// is no such function.
struct FunctionSelector {
  Opcode op;
  uint8_t type = 0, type2 = 0;
  bool is_varying = false, has_varying_a = true, has_varying_b = true, has_gate = false;
  Opcode rounding = Opcode::Mov;  // rounding after each step of a Fold; Mov: none
};
InstructionFunction find_function(const FunctionSelector& s);
InstructionFunction select_binary(const FunctionSelector& s);
InstructionFunction select_float_binary(const FunctionSelector& s);
InstructionFunction select_unary(const FunctionSelector& s);
InstructionFunction select_cast(const FunctionSelector& s);
InstructionFunction select_memory(const FunctionSelector& s);
const RefInstruction* run_wmma(RefFrame& f, const RefInstruction* i);

}  // namespace tgc::ref
