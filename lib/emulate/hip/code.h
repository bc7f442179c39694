// TranslatedKernel: a kernel's operations; read-only once built, and shared by the host threads. Wave: the state of a
// wave.
#pragma once
#include <bit>
#include <cstddef>
#include <string>
#include <vector>

#include "lib/emulate/blocks.h"
#include "lib/emulate/hip/code_object.h"
#include "lib/emulate/hip/instruction.h"
#include "lib/emulate/memory.h"

namespace tgc::hip {

using namespace emulate;

// A wave has 32 or 64 lanes. Operations process 32 lanes at a time, called a half of the wave.
inline constexpr int kNumLanes = 32;
// Flat addresses of LDS and of private memory start here, outside the host's address space.
inline constexpr uint64_t kGroupWindowAddress = uint64_t(1) << 60, kPrivateWindowAddress = uint64_t(1) << 61;
inline constexpr uint64_t kMemoryWindowBytes = uint64_t(1) << 32;

struct Wave;
struct Op;
using OpFunction = void (*)(Wave&, const Op&);

// The hardware counter by which a program waits for a memory operation.
enum class WaitCounter : uint8_t { None, Load, Store, Lds, Scalar };

// The bits of a register that an operand uses, for 16-bit operations and sub-dword addressing.
enum class RegisterPart : uint8_t { Whole, Byte0, Byte1, Byte2, Byte3, Word0, Word1 };

// A vector register (one value per lane), or a scalar register or constant (one value for all lanes).
struct SourceOperand {
  uint16_t register_index = 0;
  bool is_vector = false;
  RegisterPart part = RegisterPart::Whole;
  bool is_signed = false;  // a byte or word part is sign-extended
  bool is_half = false;    // the register holds a 16-bit float, which is converted to float
  bool is_negative = false, is_absolute = false;

  bool is_unmodified() const { return part == RegisterPart::Whole && !is_half && !is_negative && !is_absolute; }
};

struct Op {
  OpFunction run = nullptr;
  SourceOperand a, b, c;
  uint16_t to = kDiscardRegister;
  uint16_t second_destination = kDiscardRegister;
  bool is_vector = false;  // the operation counts once per active lane in Wave::num_executed_ops
  bool clamps_result = false;
  int8_t scale_exponent = 0;  // multiplies the result by 2^scale_exponent before clamping; for DPP: index in kControls
  RegisterPart result_part = RegisterPart::Whole;  // the bits of the destination register that receive the result
  uint8_t num_words = 1;  // for a memory operation: registers per lane; for others: a parameter
  // for a memory operation: bytes per lane; for a wait: the WaitCounter; for DPP: row and bank masks
  uint8_t bytes = 0;
  WaitCounter counter = WaitCounter::None;
  bool has_wide_address = false;  // the vector part of the address has 64 bits
  bool has_narrow_base = false;  // the scalar part of the address has 32 bits
  bool is_load = false;  // fills its destination registers asynchronously on hardware, as loads do
  int32_t offset = 0;
  uint32_t target = 0;       // index of the target operation of a jump
  uint32_t instruction = 0;
};

struct TranslatedKernel {
  std::string name;
  KernelDescriptor descriptor;
  const char* processor = "";  // the processor that the code is for: "gfx1100"
  GpuFamily family = GpuFamily::Gfx11;
  uint32_t num_halves = 1;
  uint64_t image_address = 0;  // host address of the image
  std::vector<Instruction> instructions;
  std::vector<Op> ops;
  std::vector<uint32_t> constants;  // copied into each wave's scalar register file from index kFirstConstant on
  bool has_barrier = false;
  bool has_waits = false;  // wait instructions became operations, for --race

  uint32_t num_scalars() const { return kFirstConstant + uint32_t(constants.size()); }
  // Returns a text such as "kernel 'r_4', instruction at 0x1654 ('global_load_b32 v1, v[2:3], off'), line 12 of the
  // source".
  std::string instruction_text(uint32_t instruction) const;
};

struct WorkGroup;
class WaitChecker;

struct Wave {
  uint32_t* scalar_registers = nullptr;
  uint32_t* vector_registers = nullptr;  // indexed [register][half][lane]
  uint32_t num_halves = 1;
  uint32_t pc = 0;
  enum State : uint8_t { Running, AtBarrier, Done } state = Running;
  WorkGroup* group = nullptr;
  const TranslatedKernel* code = nullptr;
  uint32_t first_thread = 0;
  std::byte* private_memory = nullptr;  // private memory of the wave's threads, one after another
  uint32_t mask[2] = {};            // the lane mask that the current operation computes, one word per half of the wave
  uint32_t saved_exec[2] = {};      // EXEC before a DPP instruction, which runs in fewer lanes
  uint64_t num_executed_ops = 0;        // executed operations; a vector operation counts once per active lane
  uint64_t num_jumps_left = UINT64_MAX;
  uint32_t float_mode = 0xf0;
  WaitChecker* pending_waits = nullptr;  // outstanding memory operations; null without --race
  uint32_t num_started_ops = 0;        // operations started so far; counted only with --race

  uint32_t exec(uint32_t half) const { return scalar_registers[kExec + half]; }
  uint64_t exec() const {
    return scalar_registers[kExec] | (num_halves == 2 ? uint64_t(scalar_registers[kExec + 1]) << 32 : 0);
  }
  uint32_t* vector(uint32_t register_index, uint32_t half) const {
    return vector_registers + (register_index * num_halves + half) * kNumLanes;
  }
  uint32_t& lane(uint32_t register_index, uint32_t lane) const {
    return vector_registers[register_index * num_halves * kNumLanes + lane];
  }
};

template <class F>
inline void for_each_active_lane(const Wave& w, F f) {
  for (uint64_t rest = w.exec(); rest; rest &= rest - 1) f(uint32_t(std::countr_zero(rest)));
}

}  // namespace tgc::hip
