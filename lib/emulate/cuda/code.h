// A kernel translated: operations on the 32 lanes of a warp, each a function and the places of its registers. And the
// state that they work on. Built once a module, then read by every thread of the host.
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

using namespace emulate;  // memory, numbers, errors: what emulators share

inline constexpr int kLanes = 32;
inline constexpr uint32_t kNone = UINT32_MAX;
// Generic addresses of shared and local memory: offsets from here, where no allocation of the host can lie.
inline constexpr uint64_t kSharedWindow = uint64_t(1) << 60, kLocalWindow = uint64_t(1) << 61;
inline constexpr uint64_t kWindowBytes = uint64_t(1) << 32;

struct Warp;
struct Op;
using Run = void (*)(Warp&, const Op&);

// Registers are bytes of the warp's file: the lanes' values one after the other, 2, 4, 8 or 16 bytes each; of a
// predicate 4 bytes, a bit a lane. Constants, parameters and special registers lie there too, so that every operand is
// such a place.
struct Op {
  Run run = nullptr;
  uint32_t d = kNone, a = kNone, b = kNone, c = kNone;
  uint32_t guard = kNone;    // runs in the lanes where this predicate is set
  uint32_t flip = 0;         // or, with all bits set, where it is not
  uint32_t more = kNone;     // of an operation with many operands: where they begin in Code::operands
  uint32_t count = 0;        // how many; else what the operation wants
  int64_t value = 0;         // an offset, the target of a jump
  uint32_t instruction = 0;  // of Function::body
  uint32_t join = kNone;     // of a jump: where lanes that part meet again

  bool more_is_registers() const { return more != kNone; }
};

// What a register holds before a warp starts.
enum class Special : uint8_t {
  TidX,
  TidY,
  TidZ,
  NtidX,
  NtidY,
  NtidZ,
  CtaidX,
  CtaidY,
  CtaidZ,
  NctaidX,
  NctaidY,
  NctaidZ,
  Laneid,
  Warpid,
  Nwarpid,
  Smid,
  Nsmid,
  LanemaskEq,
  LanemaskLt,
  LanemaskLe,
  LanemaskGt,
  LanemaskGe,
  DynamicSharedSize,
  TotalSharedSize,
  Gridid,
};
struct Preset {
  enum Kind : uint8_t { Constant, Parameter, Special } kind;
  uint8_t bytes;           // of a lane
  uint32_t place;
  ptx::Special special{};
  uint32_t offset = 0;     // of a parameter
  std::array<uint64_t, 2> value{};
};

struct Code {
  const Function* function = nullptr;
  const Module* module = nullptr;
  std::vector<Op> ops;
  std::vector<uint32_t> operands;
  std::vector<size_t> targets;  // of jumps by a table
  std::vector<Preset> presets;
  uint32_t file_bytes = 0;     // of a warp's registers
  uint64_t shared_bytes = 0, local_bytes = 0;
  bool has_barrier = false;
  bool is_lane_free = true;    // no lane sees another, nor its place in the warp: blocks may share warps

  // "kernel 'r_4', line 12: ld.global.f32 %f1, [%rd1]; (line 5 of kernel.cu)"
  std::string describe(uint32_t instruction) const;
};

// What an operation may see of the block that runs it. Threads are numbered x first.
struct Block;

struct Warp {
  std::byte* file = nullptr;
  uint32_t active = 0;  // the lanes in which the operation runs
  uint32_t path = 0;    // the lanes that are at `pc`
  uint32_t exists = 0;  // the lanes that have a thread
  uint32_t alive = 0;   // and did not return yet
  uint32_t pc = 0;
  enum State : uint8_t { Running, AtBarrier, Done } state = Running;
  Block* block = nullptr;
  const uint32_t* operands = nullptr;  // Code::operands
  uint32_t first_thread = 0;  // of the block, or, of a warp that holds several blocks, of the grid
  uint64_t executed = 0;      // instructions, each lane's counted
  uint64_t jumps_left = UINT64_MAX;
  uint32_t syncs = 0;         // barriers of this warp alone that it has passed

  // Lanes that wait: where they go on, and where those above them join them.
  struct Waiting {
    uint32_t pc, join, lanes;
  };
  std::array<Waiting, 2 * kLanes + 2> waiting;
  uint32_t depth = 0;
};

template <class T>
T* reg(Warp& w, uint32_t place) {
  return reinterpret_cast<T*>(w.file + place);
}

}  // namespace tgc::ptx
