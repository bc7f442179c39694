#include <algorithm>

#include "lib/runtime/ref/exec_lanes.h"
#include "lib/runtime/ref/numeric.h"

namespace tgc::ref {
namespace {

const Instruction* loop_begin(Frame& f, const Instruction* i) {
  *f.at<int64_t>(i->dst) = 0;
  return *f.at<int64_t>(i->a) > 0 ? i + 1 : f.code + i->immediate;
}

const Instruction* loop_end(Frame& f, const Instruction* i) {
  int64_t& counter = *f.at<int64_t>(i->dst);
  if (!step(f)) return nullptr;
  return ++counter < *f.at<int64_t>(i->a) ? f.code + i->immediate : i + 1;
}

int64_t num_chunk_lanes(const Frame& f, int64_t group) {
  return std::min(f.num_chunk_lanes / group * group, f.num_total_lanes - f.first_lane);
}

const Instruction* lanes_begin(Frame& f, const Instruction* i) {
  f.num_total_lanes = *f.at<int64_t>(i->a);
  f.first_lane = 0;
  if (f.num_total_lanes <= 0) return f.num_lanes = 1, f.code + i->immediate;
  f.num_lanes = num_chunk_lanes(f, i->b);
  return i + 1;
}

const Instruction* lanes_end(Frame& f, const Instruction* i) {
  if (!step(f)) return nullptr;
  f.first_lane += f.num_lanes;
  if (f.first_lane < f.num_total_lanes) return f.num_lanes = num_chunk_lanes(f, i->b), f.code + i->immediate;
  f.num_lanes = 1;
  f.first_lane = 0;
  return i + 1;
}

const Instruction* axis(Frame& f, const Instruction* i) {
  int64_t* d = f.at<int64_t>(i->dst);
  int64_t stride = *f.at<int64_t>(i->a), extent = *f.at<int64_t>(i->b);
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

const Instruction* group_base(Frame& f, const Instruction* i) {
  int64_t* d = f.at<int64_t>(i->dst);
  for (int64_t k = 0, group = 0, within = 0; k < f.num_lanes; k++) {
    d[k] = group * i->immediate;
    if (++within == i->a) within = 0, group++;
  }
  return i + 1;
}

const Instruction* count(Frame& f, const Instruction* i) {
  f.num_evaluations += uint64_t(i->a) * uint64_t(f.num_lanes) + uint64_t(i->immediate);
  return i + 1;
}

const Instruction* halt(Frame&, const Instruction*) { return nullptr; }

template <class T>
const Instruction* max_lane(Frame& f, const Instruction* i) {
  const T* a = f.at<T>(i->a);
  *f.at<T>(i->dst) = *std::max_element(a, a + f.num_lanes);
  return i + 1;
}

// ---- reductions combine one element after another and round after each step, as a loop does

template <class T, Opc O>
T combine(T a, T b) {
  if constexpr (O == Opc::Max) return a < b ? b : a;
  else if constexpr (std::is_floating_point_v<T>) return O == Opc::Add ? a + b : a * b;
  else return O == Opc::Add ? wrapping_add(a, b) : wrapping_mul(a, b);
}

// Under its sanitizers, g++ does not accept a comparison with nullptr as a constant.
template <class T, T (*Round)(T)>
inline constexpr bool kRounds =
    !std::is_same_v<std::integral_constant<T (*)(T), Round>, std::integral_constant<T (*)(T), nullptr>>;

template <class T, Opc O, T (*Round)(T)>
const Instruction* fold(Frame& f, const Instruction* i) {
  const T* a = f.at<T>(i->a);
  T sum = *f.at<T>(i->dst);
  for (int64_t k = 0, n = f.num_lanes; k < n; k++) {
    sum = combine<T, O>(sum, a[k]);
    if constexpr (kRounds<T, Round>) sum = Round(sum);
  }
  *f.at<T>(i->dst) = sum;
  return i + 1;
}

template <Opc O>
const Instruction* fold_bool(Frame& f, const Instruction* i) {
  const uint8_t* a = f.at<uint8_t>(i->a);
  uint8_t& sum = *f.at<uint8_t>(i->dst);
  for (int64_t k = 0; k < f.num_lanes; k++) sum = O == Opc::Mul ? sum & a[k] : sum | a[k];
  return i + 1;
}

template <class T, T (*Round)(T) = nullptr>
Fn pick_fold(Opc op) {
  switch (op) {
    case Opc::Add: return fold<T, Opc::Add, Round>;
    case Opc::Mul: return fold<T, Opc::Mul, Round>;
    case Opc::Max: return fold<T, Opc::Max, Round>;
    default: return nullptr;
  }
}

Fn select_fold(const Selector& s) {
  Opc op = Opc(s.type2);
  if (Type(s.type) == Type::Bool) return op == Opc::Mul ? fold_bool<Opc::Mul> : fold_bool<Opc::Add>;
  if (Type(s.type) != Type::F32) return call_with_type(Type(s.type), [&]<class T>(T) { return pick_fold<T>(op); });
  switch (s.rounding) {
    case Opc::RoundF16: return pick_fold<float, round_f16>(op);
    case Opc::RoundBF16: return pick_fold<float, round_bf16>(op);
    case Opc::RoundE4M3: return pick_fold<float, round_fp8<Scalar::FP8E4M3>>(op);
    case Opc::RoundE5M2: return pick_fold<float, round_fp8<Scalar::FP8E5M2>>(op);
    default: return pick_fold<float>(op);
  }
}

Fn select_max_lane(const Selector& s) {
  switch (Type(s.type)) {
    case Type::I32: return max_lane<int32_t>;
    case Type::U32: return max_lane<uint32_t>;
    case Type::I64: return max_lane<int64_t>;
    default: return nullptr;
  }
}

}  // namespace

Fn select(const Selector& s) {
  switch (s.op) {
    case Opc::Cast: return select_cast(s);
    case Opc::Check:
    case Opc::Load:
    case Opc::Store: return select_memory(s);
    case Opc::Fold: return select_fold(s);
    case Opc::MaxLane: return select_max_lane(s);
    case Opc::Axis: return axis;
    case Opc::GroupBase: return group_base;
    case Opc::Loop: return loop_begin;
    case Opc::LoopEnd: return loop_end;
    case Opc::Lanes: return lanes_begin;
    case Opc::LanesEnd: return lanes_end;
    case Opc::Wmma: return run_wmma;
    case Opc::Count: return count;
    case Opc::Halt: return halt;
    default: return s.op <= Opc::Eq ? select_binary(s) : select_unary(s);
  }
}

}  // namespace tgc::ref
