// A kernel translated: operations on a wave, each a function and the places of its registers. And the state that they
// work on. Built once a module, then read by every thread of the host.
#pragma once
#include <bit>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "lib/emulate/blocks.h"
#include "lib/emulate/hip/code_object.h"
#include "lib/emulate/hip/instruction.h"
#include "lib/emulate/memory.h"

namespace tgc::hip {

using namespace emulate;  // memory, numbers, errors: what emulators share

// A wave has 32 or 64 lanes; operations work on 32 at a time, a half.
inline constexpr int kLanes = 32;
// Flat addresses of a group's and a thread's own memory: offsets from here, where no allocation of the host can lie.
inline constexpr uint64_t kGroupWindow = uint64_t(1) << 60, kPrivateWindow = uint64_t(1) << 61;
inline constexpr uint64_t kWindowBytes = uint64_t(1) << 32;

struct Wave;
struct Op;
using Run = void (*)(Wave&, const Op&);

// Which counter says when a memory operation is done.
enum class Counter : uint8_t { None, Load, Store, Lds, Scalar };

// Which bits of a register an operand is, for 16-bit operations and sub-dword addressing.
enum class Part : uint8_t { Whole, Byte0, Byte1, Byte2, Byte3, Word0, Word1 };

// An operand that is read: of vector registers one value a lane, of scalar ones (constants lie among them) one for all.
struct Source {
  uint16_t place = 0;
  bool is_vector = false;
  Part part = Part::Whole;
  bool is_signed = false;  // of a part: its sign is extended
  bool is_half = false;  // read as float, it holds a half
  bool negative = false, absolute = false;

  bool is_plain() const { return part == Part::Whole && !is_half && !negative && !absolute; }
};

struct Op {
  Run run = nullptr;
  Source a, b, c;
  uint16_t to = kTrash;  // where the result goes: a vector or a scalar register
  uint16_t to2 = kTrash;  // a second, scalar result: a mask of lanes
  bool is_vector = false;  // runs in each lane
  bool clamp = false;  // the result is kept between 0 and 1
  int8_t scale = 0;  // and multiplied by 2 to this
  Part to_part = Part::Whole;  // of 16-bit results: Word0 and Word1 leave the other half as it is
  uint8_t words = 1;  // of memory: registers a lane
  uint8_t bytes = 0;  // and bytes in memory
  Counter counter = Counter::None;
  bool wide_address = false;  // the vector part of an address has 64 bits
  bool narrow_base = false;  // the scalar part has 32
  bool loads = false;  // it fills the result's registers later
  int32_t offset = 0;
  uint32_t target = 0;  // of a jump: the operation
  uint32_t instruction = 0;
};

struct Code {
  std::string name;
  Descriptor descriptor;
  Family family = Family::Gfx11;
  uint32_t halves = 1;  // of a wave
  uint64_t base = 0;  // where the image lies in the host's memory
  std::string listing;  // what the instructions refer to
  std::vector<Instruction> instructions;
  std::vector<Op> ops;
  std::vector<uint32_t> constants;  // from kConstants in the scalar file
  bool has_barrier = false;
  bool has_waits = false;  // waits are operations, to be watched

  uint32_t scalars() const { return kConstants + uint32_t(constants.size()); }
  // "kernel 'r_4', instruction at 0x1654 ('global_load_b32 v1, v[2:3], off'), line 12 of the source"
  std::string describe(uint32_t instruction) const;
};

struct Group;
class Waits;

struct Wave {
  uint32_t* s = nullptr;  // the scalar file
  uint32_t* v = nullptr;  // the vector file: register, half, lane
  uint32_t halves = 1;
  uint32_t pc = 0;
  enum State : uint8_t { Running, AtBarrier, Done } state = Running;
  Group* group = nullptr;
  const Code* code = nullptr;
  uint32_t first_thread = 0;
  std::byte* own_memory = nullptr;  // the threads' private memory, one after the other
  uint32_t mask[2] = {};  // a mask of lanes on its way to the scalar file
  uint32_t outer_exec[2] = {};  // EXEC while an instruction with DPP runs in fewer lanes
  uint64_t executed = 0;  // instructions: of vector ones each lane's counted
  uint64_t jumps_left = UINT64_MAX;
  uint32_t float_mode = 0xf0;
  Waits* waits = nullptr;  // when asked for
  uint32_t moment = 0;  // operations begun, where those are watched

  uint32_t exec(uint32_t half) const { return s[kExec + half]; }
  uint64_t exec() const { return s[kExec] | (halves == 2 ? uint64_t(s[kExec + 1]) << 32 : 0); }
  uint32_t* vector(uint32_t place, uint32_t half) const { return v + (place * halves + half) * kLanes; }
  uint32_t& lane(uint32_t place, uint32_t lane) const { return v[place * halves * kLanes + lane]; }
};

// The lanes that are active, by number.
template <class F>
inline void each_active(const Wave& w, F f) {
  for (uint64_t rest = w.exec(); rest; rest &= rest - 1) f(uint32_t(std::countr_zero(rest)));
}

}  // namespace tgc::hip
