// Operations of two floats, and of one: elementary functions are computed in double and rounded once.
#include "lib/runtime/ref/exec_lanes.h"
#include "lib/runtime/ref/numeric.h"

namespace tgc::ref {
namespace {

#define TGC_OP2(name, expression)                                     \
  struct name {                                                       \
    template <class T>                                                \
    static auto apply(T a, T b, RefNotes&) { return expression; }     \
  };
TGC_OP2(OpAdd, a + b)
TGC_OP2(OpSub, a - b)
TGC_OP2(OpMul, a* b)
TGC_OP2(OpFDiv, a / b)
TGC_OP2(OpMax, a < b ? b : a)
TGC_OP2(OpPow, T(std::pow(double(a), double(b))))
TGC_OP2(OpLt, uint8_t(a < b))
TGC_OP2(OpNe, uint8_t(a != b))
TGC_OP2(OpEq, uint8_t(a == b))
#undef TGC_OP2

template <class T>
Fn float_binary(const Selector& s) {
  switch (s.op) {
    case Opc::Add: return pick2<T, T, OpAdd>(s);
    case Opc::Sub: return pick2<T, T, OpSub>(s);
    case Opc::Mul: return pick2<T, T, OpMul>(s);
    case Opc::FDiv: return pick2<T, T, OpFDiv>(s);
    case Opc::Max: return pick2<T, T, OpMax>(s);
    case Opc::Pow: return pick2<T, T, OpPow>(s);
    case Opc::Lt: return pick2<uint8_t, T, OpLt>(s);
    case Opc::Ne: return pick2<uint8_t, T, OpNe>(s);
    case Opc::Eq: return pick2<uint8_t, T, OpEq>(s);
    default: return nullptr;
  }
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
