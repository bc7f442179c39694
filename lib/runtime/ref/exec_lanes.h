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
Fn call_with_type(Type type, F f) {
  switch (type) {
#define X(name, ctype) \
  case Type::name: return f(ctype());
    TGC_REF_TYPES(X)
#undef X
  }
  return nullptr;
}

// unary_once and binary_once work on single values, unary_on_lanes and binary_on_lanes on the lanes of a chunk. Op is a
// stateless function object: Op()(a, notes) or Op()(a, b, notes).
template <class R, class T, class Op>
const Instruction* unary_once(Frame& f, const Instruction* i) {
  *f.at<R>(i->dst) = Op()(*f.at<T>(i->a), f.notes);
  return i + 1;
}

template <class R, class T, class Op>
const Instruction* unary_on_lanes(Frame& f, const Instruction* i) {
  const T* a = f.at<T>(i->a);
  R* d = f.at<R>(i->dst);
  TGC_INDEPENDENT
  for (int64_t k = 0, n = f.num_lanes; k < n; k++) d[k] = Op()(a[k], f.notes);
  return i + 1;
}

template <class R, class T, class Op>
const Instruction* binary_once(Frame& f, const Instruction* i) {
  *f.at<R>(i->dst) = Op()(*f.at<T>(i->a), *f.at<T>(i->b), f.notes);
  return i + 1;
}

// AV and BV say whether operands a and b are varying (one value per lane).
template <class R, class T, class Op, bool AV, bool BV>
const Instruction* binary_on_lanes(Frame& f, const Instruction* i) {
  const T *a = f.at<T>(i->a), *b = f.at<T>(i->b);
  R* d = f.at<R>(i->dst);
  T a0 = a[0], b0 = b[0];
  TGC_INDEPENDENT
  for (int64_t k = 0, n = f.num_lanes; k < n; k++) d[k] = Op()(AV ? a[k] : a0, BV ? b[k] : b0, f.notes);
  return i + 1;
}

template <class R, class T, class Op>
Fn pick_unary(const Selector& s) { return s.is_varying ? unary_on_lanes<R, T, Op> : unary_once<R, T, Op>; }

template <class R, class T, class Op>
Fn pick_binary(const Selector& s) {
  if (!s.is_varying) return binary_once<R, T, Op>;
  if (s.is_a_varying && s.is_b_varying) return binary_on_lanes<R, T, Op, true, true>;
  return s.is_a_varying ? binary_on_lanes<R, T, Op, true, false> : binary_on_lanes<R, T, Op, false, true>;
}

struct OpMax {
  template <class T>
  T operator()(T a, T b, RefNotes&) const { return a < b ? b : a; }
};
struct OpLt {
  template <class T>
  uint8_t operator()(T a, T b, RefNotes&) const { return a < b; }
};
struct OpNe {
  template <class T>
  uint8_t operator()(T a, T b, RefNotes&) const { return a != b; }
};
struct OpEq {
  template <class T>
  uint8_t operator()(T a, T b, RefNotes&) const { return a == b; }
};

template <class T, class Add, class Sub, class Mul, class Pow>
Fn pick_common(const Selector& s) {
  switch (s.op) {
    case Opc::Add: return pick_binary<T, T, Add>(s);
    case Opc::Sub: return pick_binary<T, T, Sub>(s);
    case Opc::Mul: return pick_binary<T, T, Mul>(s);
    case Opc::Pow: return pick_binary<T, T, Pow>(s);
    case Opc::Max: return pick_binary<T, T, OpMax>(s);
    case Opc::Lt: return pick_binary<uint8_t, T, OpLt>(s);
    case Opc::Ne: return pick_binary<uint8_t, T, OpNe>(s);
    case Opc::Eq: return pick_binary<uint8_t, T, OpEq>(s);
    default: return nullptr;
  }
}

}  // namespace tgc::ref
