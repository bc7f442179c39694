// Functions that apply an operation to one value or to all lanes of a chunk.
#pragma once
#include "lib/runtime/ref/code.h"

// Tells the compiler that loop iterations are independent, although dst and an operand may be the same register.
#if defined(__clang__)
#define TGC_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define TGC_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace tgc::ref {

// Returns f(x) for an x of the C++ type for `type`.
template <class F>
InstructionFunction call_with_type(RefType type, F f) {
  switch (type) {
#define X(name, ctype) \
  case RefType::name: return f(ctype());
    TGC_REF_TYPES(X)
#undef X
  }
  return nullptr;
}

// unary_once and binary_once work on single values, unary_on_lanes and binary_on_lanes on the lanes of a chunk. Op is a
// stateless function object: Op()(a, notes) or Op()(a, b, notes).
template <class R, class T, class Op>
const RefInstruction* unary_once(RefFrame& f, const RefInstruction* i) {
  *f.register_at<R>(i->destination) = Op()(*f.register_at<T>(i->a), f.run_notes);
  return i + 1;
}

template <class R, class T, class Op>
const RefInstruction* unary_on_lanes(RefFrame& f, const RefInstruction* i) {
  const T* a = f.register_at<T>(i->a);
  R* d = f.register_at<R>(i->destination);
  TGC_INDEPENDENT
  for (int64_t k = 0, n = f.num_lanes; k < n; k++) d[k] = Op()(a[k], f.run_notes);
  return i + 1;
}

template <class R, class T, class Op>
const RefInstruction* binary_once(RefFrame& f, const RefInstruction* i) {
  *f.register_at<R>(i->destination) = Op()(*f.register_at<T>(i->a), *f.register_at<T>(i->b), f.run_notes);
  return i + 1;
}

// AV and BV say whether operands a and b are varying (one value per lane).
template <class R, class T, class Op, bool AV, bool BV>
const RefInstruction* binary_on_lanes(RefFrame& f, const RefInstruction* i) {
  const T *a = f.register_at<T>(i->a), *b = f.register_at<T>(i->b);
  R* d = f.register_at<R>(i->destination);
  T a0 = a[0], b0 = b[0];
  TGC_INDEPENDENT
  for (int64_t k = 0, n = f.num_lanes; k < n; k++) d[k] = Op()(AV ? a[k] : a0, BV ? b[k] : b0, f.run_notes);
  return i + 1;
}

template <class R, class T, class Op>
InstructionFunction pick_unary(const FunctionSelector& s) {
  return s.is_varying ? unary_on_lanes<R, T, Op> : unary_once<R, T, Op>;
}

template <class R, class T, class Op>
InstructionFunction pick_binary(const FunctionSelector& s) {
  if (!s.is_varying) return binary_once<R, T, Op>;
  if (s.has_varying_a && s.has_varying_b) return binary_on_lanes<R, T, Op, true, true>;
  return s.has_varying_a ? binary_on_lanes<R, T, Op, true, false> : binary_on_lanes<R, T, Op, false, true>;
}

struct OpMax {
  template <class T>
  T operator()(T a, T b, UndefinedOpCounts&) const { return a < b ? b : a; }
};
struct OpLt {
  template <class T>
  uint8_t operator()(T a, T b, UndefinedOpCounts&) const { return a < b; }
};
struct OpNe {
  template <class T>
  uint8_t operator()(T a, T b, UndefinedOpCounts&) const { return a != b; }
};
struct OpEq {
  template <class T>
  uint8_t operator()(T a, T b, UndefinedOpCounts&) const { return a == b; }
};

template <class T, class Add, class Sub, class Mul, class Pow>
InstructionFunction pick_common_binary(const FunctionSelector& s) {
  switch (s.op) {
    case Opcode::Add: return pick_binary<T, T, Add>(s);
    case Opcode::Sub: return pick_binary<T, T, Sub>(s);
    case Opcode::Mul: return pick_binary<T, T, Mul>(s);
    case Opcode::Pow: return pick_binary<T, T, Pow>(s);
    case Opcode::Max: return pick_binary<T, T, OpMax>(s);
    case Opcode::Lt: return pick_binary<uint8_t, T, OpLt>(s);
    case Opcode::Ne: return pick_binary<uint8_t, T, OpNe>(s);
    case Opcode::Eq: return pick_binary<uint8_t, T, OpEq>(s);
    default: return nullptr;
  }
}

}  // namespace tgc::ref
