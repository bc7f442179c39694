// Binary operations that integers and floats share..
#pragma once
#include "lib/runtime/ref/exec_lanes.h"

namespace tgc::ref {

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

// Selects the function of a binary operation, with the arithmetic of T; null for operations that are not shared.
template <class T, class Add, class Sub, class Mul, class Pow>
Fn pick_common(const Selector& s) {
  switch (s.op) {
    case Opc::Add: return pick2<T, T, Add>(s);
    case Opc::Sub: return pick2<T, T, Sub>(s);
    case Opc::Mul: return pick2<T, T, Mul>(s);
    case Opc::Pow: return pick2<T, T, Pow>(s);
    case Opc::Max: return pick2<T, T, OpMax>(s);
    case Opc::Lt: return pick2<uint8_t, T, OpLt>(s);
    case Opc::Ne: return pick2<uint8_t, T, OpNe>(s);
    case Opc::Eq: return pick2<uint8_t, T, OpEq>(s);
    default: return nullptr;
  }
}

}  // namespace tgc::ref
