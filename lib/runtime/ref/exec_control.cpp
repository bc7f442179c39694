#include <algorithm>

#include "lib/runtime/ref/exec_lanes.h"
#include "lib/runtime/ref/numeric.h"

namespace tgc::ref {
namespace {

const RefInstruction* loop_begin(RefFrame& f, const RefInstruction* i) {
  *f.register_at<int64_t>(i->destination) = 0;
  return *f.register_at<int64_t>(i->a) > 0 ? i + 1 : f.code + i->immediate;
}

const RefInstruction* loop_end(RefFrame& f, const RefInstruction* i) {
  int64_t& counter = *f.register_at<int64_t>(i->destination);
  if (!count_step(f)) return nullptr;
  return ++counter < *f.register_at<int64_t>(i->a) ? f.code + i->immediate : i + 1;
}

int64_t num_lanes_of_chunk(const RefFrame& f, int64_t group) {
  return std::min(f.num_chunk_lanes / group * group, f.num_total_lanes - f.first_lane);
}

const RefInstruction* lanes_begin(RefFrame& f, const RefInstruction* i) {
  f.num_total_lanes = *f.register_at<int64_t>(i->a);
  f.first_lane = 0;
  if (f.num_total_lanes <= 0) return f.num_lanes = 1, f.code + i->immediate;
  f.num_lanes = num_lanes_of_chunk(f, i->b);
  return i + 1;
}

const RefInstruction* lanes_end(RefFrame& f, const RefInstruction* i) {
  if (!count_step(f)) return nullptr;
  f.first_lane += f.num_lanes;
  if (f.first_lane < f.num_total_lanes) return f.num_lanes = num_lanes_of_chunk(f, i->b), f.code + i->immediate;
  f.num_lanes = 1;
  f.first_lane = 0;
  return i + 1;
}

const RefInstruction* axis_positions(RefFrame& f, const RefInstruction* i) {
  int64_t* d = f.register_at<int64_t>(i->destination);
  int64_t stride = *f.register_at<int64_t>(i->a), extent = *f.register_at<int64_t>(i->b);
  int64_t value = f.first_lane / stride % extent, within = f.first_lane % stride;
  if (stride == 1 && value + f.num_lanes <= extent) {
    for (int64_t k = 0, n = f.num_lanes; k < n; k++) d[k] = value + k;
    return i + 1;
  }
  for (int64_t k = 0; k < f.num_lanes; k++) {
    d[k] = value;
    if (++within == stride) within = 0, value = value + 1 == extent ? 0 : value + 1;
  }
  return i + 1;
}

const RefInstruction* group_base(RefFrame& f, const RefInstruction* i) {
  int64_t* d = f.register_at<int64_t>(i->destination);
  for (int64_t k = 0, group = 0, within = 0; k < f.num_lanes; k++) {
    d[k] = group * i->immediate;
    if (++within == i->a) within = 0, group++;
  }
  return i + 1;
}

const RefInstruction* count_evaluations(RefFrame& f, const RefInstruction* i) {
  f.num_evaluations += uint64_t(i->a) * uint64_t(f.num_lanes) + uint64_t(i->immediate);
  return i + 1;
}

const RefInstruction* halt_run(RefFrame&, const RefInstruction*) { return nullptr; }

template <class T>
const RefInstruction* max_over_lanes(RefFrame& f, const RefInstruction* i) {
  const T* a = f.register_at<T>(i->a);
  *f.register_at<T>(i->destination) = *std::max_element(a, a + f.num_lanes);
  return i + 1;
}

// ---- reductions combine one element after another and round after each step, as a loop does

template <class T, Opcode O>
T combine_values(T a, T b) {
  if constexpr (O == Opcode::Max) return a < b ? b : a;
  else if constexpr (std::is_floating_point_v<T>) return O == Opcode::Add ? a + b : a * b;
  else return O == Opcode::Add ? wrapping_add(a, b) : wrapping_mul(a, b);
}

// Under its sanitizers, g++ does not accept a comparison with nullptr as a constant.
template <class T, T (*Round)(T)>
inline constexpr bool kRounds =
    !std::is_same_v<std::integral_constant<T (*)(T), Round>, std::integral_constant<T (*)(T), nullptr>>;

template <class T, Opcode O, T (*Round)(T)>
const RefInstruction* fold_lanes(RefFrame& f, const RefInstruction* i) {
  const T* a = f.register_at<T>(i->a);
  T sum = *f.register_at<T>(i->destination);
  for (int64_t k = 0, n = f.num_lanes; k < n; k++) {
    sum = combine_values<T, O>(sum, a[k]);
    if constexpr (kRounds<T, Round>) sum = Round(sum);
  }
  *f.register_at<T>(i->destination) = sum;
  return i + 1;
}

template <Opcode O>
const RefInstruction* fold_bool(RefFrame& f, const RefInstruction* i) {
  const uint8_t* a = f.register_at<uint8_t>(i->a);
  uint8_t& sum = *f.register_at<uint8_t>(i->destination);
  for (int64_t k = 0; k < f.num_lanes; k++) sum = O == Opcode::Mul ? sum & a[k] : sum | a[k];
  return i + 1;
}

template <class T, T (*Round)(T) = nullptr>
InstructionFunction pick_fold(Opcode op) {
  switch (op) {
    case Opcode::Add: return fold_lanes<T, Opcode::Add, Round>;
    case Opcode::Mul: return fold_lanes<T, Opcode::Mul, Round>;
    case Opcode::Max: return fold_lanes<T, Opcode::Max, Round>;
    default: return nullptr;
  }
}

InstructionFunction select_fold(const FunctionSelector& s) {
  Opcode op = Opcode(s.type2);
  if (RefType(s.type) == RefType::Bool) return op == Opcode::Mul ? fold_bool<Opcode::Mul> : fold_bool<Opcode::Add>;
  if (RefType(s.type) != RefType::F32)
    return call_with_type(RefType(s.type), [&]<class T>(T) { return pick_fold<T>(op); });
  switch (s.rounding) {
    case Opcode::RoundF16: return pick_fold<float, round_f16>(op);
    case Opcode::RoundBF16: return pick_fold<float, round_bf16>(op);
    case Opcode::RoundE4M3: return pick_fold<float, round_fp8<Scalar::FP8E4M3>>(op);
    case Opcode::RoundE5M2: return pick_fold<float, round_fp8<Scalar::FP8E5M2>>(op);
    default: return pick_fold<float>(op);
  }
}

InstructionFunction select_max_lane(const FunctionSelector& s) {
  switch (RefType(s.type)) {
    case RefType::I32: return max_over_lanes<int32_t>;
    case RefType::U32: return max_over_lanes<uint32_t>;
    case RefType::I64: return max_over_lanes<int64_t>;
    default: return nullptr;
  }
}

}  // namespace

InstructionFunction find_function(const FunctionSelector& s) {
  switch (s.op) {
    case Opcode::Cast: return select_cast(s);
    case Opcode::Check:
    case Opcode::Load:
    case Opcode::Store: return select_memory(s);
    case Opcode::Fold: return select_fold(s);
    case Opcode::MaxLane: return select_max_lane(s);
    case Opcode::Axis: return axis_positions;
    case Opcode::GroupBase: return group_base;
    case Opcode::Loop: return loop_begin;
    case Opcode::LoopEnd: return loop_end;
    case Opcode::Lanes: return lanes_begin;
    case Opcode::LanesEnd: return lanes_end;
    case Opcode::Wmma: return run_wmma;
    case Opcode::Count: return count_evaluations;
    case Opcode::Halt: return halt_run;
    default: return s.op <= Opcode::Eq ? select_binary(s) : select_unary(s);
  }
}

}  // namespace tgc::ref
