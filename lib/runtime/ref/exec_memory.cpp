// Loads and stores, checked against their memory. Lanes without a gate that access consecutive elements are copied as a
// block, unless a store meets elements stored before.
#include <cstring>

#include "lib/runtime/ref/exec_lanes.h"
#include "lib/runtime/ref/numeric.h"

namespace tgc::ref {
namespace {

template <class T>
struct StoredPlain {
  using MemoryType = T;
  using RegisterType = T;
  static RegisterType load(MemoryType m) { return m; }
  static MemoryType store(RegisterType r) { return r; }
};
struct StoredBool : StoredPlain<uint8_t> {
  static uint8_t load(uint8_t m) { return m != 0; }
};
struct StoredHalf {
  using MemoryType = uint16_t;
  using RegisterType = float;
  static float load(uint16_t m) { return half_of_bits(m); }
  static uint16_t store(float r) { return bits_of_half(r); }
};
struct StoredBF16 {
  using MemoryType = uint16_t;
  using RegisterType = float;
  static float load(uint16_t m) { return bf16_of_bits(m); }
  static uint16_t store(float r) { return bits_of_bf16(r); }
};
template <Scalar K>
struct StoredFP8 {
  using MemoryType = uint8_t;
  using RegisterType = float;
  static float load(uint8_t m) { return fp8_of_bits<K>(m); }
  static uint8_t store(float r) { return bits_of_fp8<K>(r); }
};

const RefInstruction* fail_access(RefFrame& f, const RefInstruction* i, int64_t lane) {
  f.failed_access = i;
  f.failed_lane = lane;
  return nullptr;
}

const RefMemory& memory_of(const RefFrame& f, const RefInstruction* i) { return f.memories[uint32_t(i->immediate)]; }

template <class Off>
bool is_in_bounds(Off offset, int64_t size) { return uint64_t(int64_t(offset)) < uint64_t(size); }

// Returns the first lane whose offset is out of bounds, or n. Lanes with a false gate count as in bounds.
template <class Off, bool Gated>
int64_t first_out_of_bounds_lane(const Off* off, const uint8_t* gate, int64_t n, int64_t size) {
  uint64_t bad = 0;
  for (int64_t k = 0; k < n; k++) bad |= uint64_t(!is_in_bounds(off[k], size)) & (Gated ? gate[k] != 0 : 1);
  if (!bad) [[likely]] return n;
  int64_t k = 0;
  while (is_in_bounds(off[k], size) || (Gated && !gate[k])) k++;
  return k;
}

template <class Off>
bool is_contiguous(const Off* off, int64_t n) {
  uint64_t difference = 0;
  for (int64_t k = 0; k < n; k++) difference |= uint64_t(int64_t(off[k])) ^ (uint64_t(int64_t(off[0])) + uint64_t(k));
  return difference == 0;
}

template <class S, class Off>
const RefInstruction* load_once(RefFrame& f, const RefInstruction* i) {
  const RefMemory& m = memory_of(f, i);
  Off off = *f.register_at<Off>(i->a);
  if (!is_in_bounds(off, m.size)) [[unlikely]] return fail_access(f, i, 0);
  *f.register_at<typename S::RegisterType>(i->destination) =
      S::load(reinterpret_cast<const typename S::MemoryType*>(m.data)[off]);
  return i + 1;
}

template <class S, class Off>
const RefInstruction* load_lanes(RefFrame& f, const RefInstruction* i) {
  const RefMemory& m = memory_of(f, i);
  const Off* off = f.register_at<Off>(i->a);
  auto* mem = reinterpret_cast<const typename S::MemoryType*>(m.data);
  typename S::RegisterType* d = f.register_at<typename S::RegisterType>(i->destination);
  const int64_t n = f.num_lanes;
  if (is_contiguous(off, n)) {
    if (off[0] < 0 || int64_t(off[0]) > m.size - n)
      return fail_access(f, i, first_out_of_bounds_lane<Off, false>(off, nullptr, n, m.size));
    const typename S::MemoryType* from = mem + off[0];
    TGC_INDEPENDENT
    for (int64_t k = 0; k < n; k++) d[k] = S::load(from[k]);
    return i + 1;
  }
  if (int64_t bad = first_out_of_bounds_lane<Off, false>(off, nullptr, n, m.size); bad < n)
    return fail_access(f, i, bad);
  for (int64_t k = 0; k < n; k++) d[k] = S::load(mem[off[k]]);
  return i + 1;
}

template <class S, class Off, bool Varying>
const RefInstruction* load_gated(RefFrame& f, const RefInstruction* i) {
  using RegisterType = typename S::RegisterType;
  const RefMemory& m = memory_of(f, i);
  const Off* off = f.register_at<Off>(i->a);
  const uint8_t* gate = f.register_at<uint8_t>(i->b);
  const RegisterType* alt = i->c >= 0 ? f.register_at<RegisterType>(i->c) : nullptr;
  auto* mem = reinterpret_cast<const typename S::MemoryType*>(m.data);
  RegisterType* d = f.register_at<RegisterType>(i->destination);
  const int64_t n = Varying ? f.num_lanes : 1;
  if (int64_t bad = first_out_of_bounds_lane<Off, true>(off, gate, n, m.size); bad < n) return fail_access(f, i, bad);
  for (int64_t k = 0; k < n; k++) d[k] = gate[k] ? S::load(mem[off[k]]) : alt ? alt[k] : RegisterType(0);
  return i + 1;
}

// Counts a store of a different value to an element stored before, because the order of such stores is undefined on a
// device.
template <class MemoryType>
void store_element(const RefMemory& m, MemoryType* mem, int64_t at, MemoryType value, UndefinedOpCounts& run_notes) {
  if (m.stored_flags) {
    run_notes.num_conflicting_stores += m.stored_flags[at] && std::memcmp(&mem[at], &value, sizeof value) != 0;
    m.stored_flags[at] = 1;
  }
  mem[at] = value;
}

// Marks the n elements as stored and returns true. If one of them is already marked, marks none and returns false.
// Returns true if stores are not tracked.
bool mark_stored(const RefMemory& m, int64_t at, int64_t n) {
  if (!m.stored_flags) return true;
  uint8_t any = 0;
  for (int64_t k = 0; k < n; k++) any |= m.stored_flags[at + k];
  if (any) return false;
  for (int64_t k = 0; k < n; k++) m.stored_flags[at + k] = 1;
  return true;
}

template <class S, class Off, bool Gated, bool Varying>
const RefInstruction* store_lanes(RefFrame& f, const RefInstruction* i) {
  const RefMemory& m = memory_of(f, i);
  const Off* off = f.register_at<Off>(i->a);
  const uint8_t* gate = Gated ? f.register_at<uint8_t>(i->b) : nullptr;
  const typename S::RegisterType* v = f.register_at<typename S::RegisterType>(i->c);
  auto* mem = reinterpret_cast<typename S::MemoryType*>(m.data);
  const int64_t n = Varying ? f.num_lanes : 1;
  if (int64_t bad = first_out_of_bounds_lane<Off, Gated>(off, gate, n, m.size); bad < n) return fail_access(f, i, bad);
  if (!Gated && Varying && is_contiguous(off, n) && mark_stored(m, int64_t(off[0]), n)) {
    typename S::MemoryType* to = mem + off[0];
    TGC_INDEPENDENT
    for (int64_t k = 0; k < n; k++) to[k] = S::store(v[k]);
    return i + 1;
  }
  for (int64_t k = 0; k < n; k++)
    if (!Gated || gate[k]) store_element<typename S::MemoryType>(m, mem, int64_t(off[k]), S::store(v[k]), f.run_notes);
  return i + 1;
}

template <class Off, bool Gated, bool Varying>
const RefInstruction* check_bounds(RefFrame& f, const RefInstruction* i) {
  const int64_t n = Varying ? f.num_lanes : 1;
  int64_t bad = first_out_of_bounds_lane<Off, Gated>(
      f.register_at<Off>(i->a), Gated ? f.register_at<uint8_t>(i->b) : nullptr, n, memory_of(f, i).elements_per_copy);
  return bad < n ? fail_access(f, i, bad) : i + 1;
}

template <class Off>
InstructionFunction pick_check(const FunctionSelector& s) {
  if (s.has_gate) return s.is_varying ? check_bounds<Off, true, true> : check_bounds<Off, true, false>;
  return s.is_varying ? check_bounds<Off, false, true> : check_bounds<Off, false, false>;
}

template <class S, class Off>
InstructionFunction pick_access(const FunctionSelector& s) {
  if (s.op == Opcode::Store) {
    if (s.has_gate) return s.is_varying ? store_lanes<S, Off, true, true> : store_lanes<S, Off, true, false>;
    return s.is_varying ? store_lanes<S, Off, false, true> : store_lanes<S, Off, false, false>;
  }
  if (s.has_gate) return s.is_varying ? load_gated<S, Off, true> : load_gated<S, Off, false>;
  return s.is_varying ? load_lanes<S, Off> : load_once<S, Off>;
}

template <class Off>
InstructionFunction pick_by_scalar(const FunctionSelector& s) {
  if (s.op == Opcode::Check) return pick_check<Off>(s);
  switch (Scalar(s.type)) {
    case Scalar::Bool: return pick_access<StoredBool, Off>(s);
    case Scalar::Int8: return pick_access<StoredPlain<int8_t>, Off>(s);
    case Scalar::UInt8: return pick_access<StoredPlain<uint8_t>, Off>(s);
    case Scalar::Int16: return pick_access<StoredPlain<int16_t>, Off>(s);
    case Scalar::UInt16: return pick_access<StoredPlain<uint16_t>, Off>(s);
    case Scalar::Int32: return pick_access<StoredPlain<int32_t>, Off>(s);
    case Scalar::UInt32: return pick_access<StoredPlain<uint32_t>, Off>(s);
    case Scalar::Int64:
    case Scalar::Index: return pick_access<StoredPlain<int64_t>, Off>(s);
    case Scalar::UInt64: return pick_access<StoredPlain<uint64_t>, Off>(s);
    case Scalar::FP8E4M3: return pick_access<StoredFP8<Scalar::FP8E4M3>, Off>(s);
    case Scalar::FP8E5M2: return pick_access<StoredFP8<Scalar::FP8E5M2>, Off>(s);
    case Scalar::Float16: return pick_access<StoredHalf, Off>(s);
    case Scalar::BFloat16: return pick_access<StoredBF16, Off>(s);
    case Scalar::Float32: return pick_access<StoredPlain<float>, Off>(s);
    case Scalar::Float64: return pick_access<StoredPlain<double>, Off>(s);
    case Scalar::Void:
    case Scalar::Other: break;
  }
  return nullptr;
}

}  // namespace

InstructionFunction select_memory(const FunctionSelector& s) {
  return RefType(s.type2) == RefType::I32 ? pick_by_scalar<int32_t>(s) : pick_by_scalar<int64_t>(s);
}

}  // namespace tgc::ref
