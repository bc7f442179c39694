// Operations on two floats. Powers are computed in double.
#include "lib/runtime/ref/exec_lanes.h"
#include "lib/runtime/ref/numeric.h"

namespace tgc::ref {
namespace {

using OpAdd = decltype([](auto a, auto b, UndefinedOpCounts&) { return a + b; });
using OpSub = decltype([](auto a, auto b, UndefinedOpCounts&) { return a - b; });
using OpMul = decltype([](auto a, auto b, UndefinedOpCounts&) { return a * b; });
using OpFDiv = decltype([](auto a, auto b, UndefinedOpCounts&) { return a / b; });
using OpPow = decltype([]<class T>(T a, T b, UndefinedOpCounts&) { return T(std::pow(double(a), double(b))); });

template <class T>
InstructionFunction pick_float_binary(const FunctionSelector& s) {
  return s.op == Opcode::FDiv ? pick_binary<T, T, OpFDiv>(s) : pick_common_binary<T, OpAdd, OpSub, OpMul, OpPow>(s);
}

}  // namespace

InstructionFunction select_float_binary(const FunctionSelector& s) {
  switch (RefType(s.type)) {
    case RefType::F32: return pick_float_binary<float>(s);
    case RefType::F64: return pick_float_binary<double>(s);
    default: return nullptr;
  }
}

}  // namespace tgc::ref
