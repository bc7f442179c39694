// Operations on two floats. Powers are computed in double and rounded once.
#include "lib/runtime/ref/exec_common.h"
#include "lib/runtime/ref/numeric.h"

namespace tgc::ref {
namespace {

struct OpAdd {
  template <class T>
  static T apply(T a, T b, RefNotes&) { return a + b; }
};
struct OpSub {
  template <class T>
  static T apply(T a, T b, RefNotes&) { return a - b; }
};
struct OpMul {
  template <class T>
  static T apply(T a, T b, RefNotes&) { return a * b; }
};
struct OpFDiv {
  template <class T>
  static T apply(T a, T b, RefNotes&) { return a / b; }
};
struct OpPow {
  template <class T>
  static T apply(T a, T b, RefNotes&) { return T(std::pow(double(a), double(b))); }
};

template <class T>
Fn float_binary(const Selector& s) {
  return s.op == Opc::FDiv ? pick2<T, T, OpFDiv>(s) : pick_common<T, OpAdd, OpSub, OpMul, OpPow>(s);
}

}  // namespace

Fn select_float_binary(const Selector& s) {
  switch (Type(s.type)) {
    case Type::F32: return float_binary<float>(s);
    case Type::F64: return float_binary<double>(s);
    default: return nullptr;
  }
}

}  // namespace tgc::ref
