// TranslatedKernel: a kernel's operations on the 32 lanes of a warp; read-only once built, and shared by the host
// threads. Warp: the state of a warp.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/emulate/blocks.h"
#include "lib/emulate/cuda/ptx.h"
#include "lib/emulate/memory.h"

namespace tgc::ptx {

using namespace emulate;

inline constexpr int kNumLanes = 32;
inline constexpr uint32_t kNoIndex = UINT32_MAX;
// Generic addresses of shared and local memory start here, outside the host's address space.
inline constexpr uint64_t kSharedWindowAddress = uint64_t(1) << 60, kLocalWindowAddress = uint64_t(1) << 61;
inline constexpr uint64_t kMemoryWindowBytes = uint64_t(1) << 32;

struct Warp;
struct Op;
using OpFunction = void (*)(Warp&, const Op&);

// One operation. A register is a byte offset in the warp's register file, where the values of its 32 lanes are
// consecutive, 2, 4, 8 or 16 bytes each; a predicate has 4 bytes, one bit per lane. Constants, parameters and special
// registers are in the file too.
struct Op {
  OpFunction run = nullptr;
  uint32_t d = kNoIndex, a = kNoIndex, b = kNoIndex, c = kNoIndex;
  uint32_t guard = kNoIndex;   // the operation runs in lanes where guard ^ guard_flip_mask is 1; kNoIndex: in all
  uint32_t guard_flip_mask = 0;
  // index in TranslatedKernel::operands of further operands; kNoIndex: only d, a, b, c
  uint32_t more_operands = kNoIndex;
  // the number of operands at `more_operands`; if that is kNoIndex, a parameter of the operation
  uint32_t num_more_operands = 0;
  int64_t immediate = 0;     // address offset, jump target or a parameter of the operation
  uint32_t instruction = 0;
  uint32_t join_op = kNoIndex;  // for a jump: index of the op at which diverged lanes reconverge; kNoIndex: nowhere

  bool has_register_list() const { return more_operands != kNoIndex; }
};

// The special registers. differs_by_lane (builder.cpp) depends on their order.
#define TGC_PTX_SPECIALS(X)                                                                 \
  X(TidX, "%tid.x") X(TidY, "%tid.y") X(TidZ, "%tid.z")                                     \
  X(NtidX, "%ntid.x") X(NtidY, "%ntid.y") X(NtidZ, "%ntid.z")                               \
  X(CtaidX, "%ctaid.x") X(CtaidY, "%ctaid.y") X(CtaidZ, "%ctaid.z")                         \
  X(NctaidX, "%nctaid.x") X(NctaidY, "%nctaid.y") X(NctaidZ, "%nctaid.z")                   \
  X(Laneid, "%laneid") X(Warpid, "%warpid") X(Nwarpid, "%nwarpid")                          \
  X(Smid, "%smid") X(Nsmid, "%nsmid")                                                       \
  X(LanemaskEq, "%lanemask_eq") X(LanemaskLt, "%lanemask_lt")                               \
  X(LanemaskLe, "%lanemask_le") X(LanemaskGt, "%lanemask_gt") X(LanemaskGe, "%lanemask_ge") \
  X(DynamicSharedSize, "%dynamic_smem_size") X(TotalSharedSize, "%total_smem_size")         \
  X(Gridid, "%gridid")

enum class SpecialRegister : uint8_t {
#define X(name, text) name,
  TGC_PTX_SPECIALS(X)
#undef X
};
// A register that has a value before a warp starts.
struct RegisterPreset {
  enum Kind : uint8_t { Constant, Parameter, Special } kind;
  uint8_t lane_bytes;           // bytes of a lane's value; 0 for a predicate
  uint32_t register_offset;
  ptx::SpecialRegister special{};
  uint32_t offset = 0;     // for a parameter: its offset in the parameter block
  std::array<uint64_t, 2> immediate{};
};

struct TranslatedKernel {
  const Function* function = nullptr;
  const Module* module = nullptr;
  std::vector<Op> ops;
  std::vector<uint32_t> operands;
  std::vector<size_t> jump_targets;
  std::vector<RegisterPreset> presets;
  uint32_t register_file_bytes = 0;
  uint64_t shared_bytes = 0, local_bytes = 0;
  bool has_barrier = false;
  bool is_lane_independent = true;  // no op depends on lane numbers or other lanes; required if blocks share a warp

  // Returns a text such as "kernel 'r_4', line 12 of the PTX, line 5 of the source ('ld.global.f32 %f1, [%rd1]')".
  std::string instruction_text(uint32_t instruction) const;
};

struct ThreadBlock;

// A group of 32 threads that run in lockstep. The masks have one bit per lane.
struct Warp {
  std::byte* register_file = nullptr;
  uint32_t active_lanes = 0;           // lanes in which the current operation runs
  uint32_t lanes_at_pc = 0;             // lanes that are at `pc`
  uint32_t occupied_lanes = 0;         // lanes that have a thread
  uint32_t alive_lanes = 0;            // lanes whose thread has not returned yet
  uint32_t pc = 0;
  enum State : uint8_t { Running, AtBarrier, Done } state = Running;
  ThreadBlock* block = nullptr;
  const uint32_t* operands = nullptr;
  // lane 0's thread: its number in the block, or in the grid if the warp holds several blocks
  uint32_t first_thread = 0;
  uint64_t num_executed_ops = 0;      // operations except joins; one that n lanes execute counts n times
  uint64_t num_jumps_left = UINT64_MAX;
  uint32_t num_syncs = 0;         // bar.warp.sync instructions that the warp has passed

  // The stack of waiting lanes, entries 1 to `waiting_depth`. If the running lanes have ended or reached their join op
  // (waiting_lanes[0].join_op), the lanes of the top entry continue at the entry's `pc`, up to its `join_op`.
  struct WaitingLanes {
    uint32_t pc, join_op, lanes;
  };
  std::array<WaitingLanes, 2 * kNumLanes + 2> waiting_lanes;
  uint32_t waiting_depth = 0;
};

template <class T>
T* register_lanes(Warp& w, uint32_t place) {
  return reinterpret_cast<T*>(w.register_file + place);
}

}  // namespace tgc::ptx
