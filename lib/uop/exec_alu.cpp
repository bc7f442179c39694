#include "lib/uop/exec_alu.h"

#include <cmath>
#include <limits>

#include "lib/support/counted.h"
#include "lib/uop/graph.h"

namespace tgc {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

[[noreturn]] void throw_unsupported(Op op) { throw Failure("no constant folding for Ops." + std::string(name_of(op))); }

// Returns the exponent `e` of a power. Throws Failure if `e` exceeds 2**20, because the power could exhaust the memory.
uint32_t checked_exponent(Int e) {
  if (e > 1 << 20) throw Failure("2**" + e.str() + " is too large");
  return uint32_t(e.small_value());
}

Const log2_of(Const x) {
  if (py_less(0, x)) {
    if (x.is_float()) return std::log2(x.as_float());
    Int v = x.as_int();
    if (v.is_small()) return std::log2(double(v.small_value()));
    uint32_t bits = v.bit_length();
    return std::log2((v >> (bits - 64)).to_double()) + (bits - 64);
  }
  return py_equal(x, 0) ? -kInf : kNan;
}

Const exp2_of(Const x) {
  if (x.is_float()) {
    double r = std::pow(2.0, x.as_float());
    return r;
  }
  Int e = x.as_int();
  if (e >= 0) return Int::pow2(checked_exponent(e));
  return std::ldexp(1.0, e < -2000 ? -2000 : int(e.small_value()));
}

Const pow_of(Const x, Const y) {
  if (x.is_integral() && y.is_integral()) {
    Int b = x.as_int(), e = y.as_int();
    if (e >= 0)
      return b == 0 || b == 1 || b == -1 ? pow(b, e == 0 ? 0 : 1 + uint32_t((e - 1).low_64_bits() & 1))
                                         : pow(b, checked_exponent(e));
    if (b == 0) return kInf;  // Python raises ZeroDivisionError, for which tinygrad's safe_pow returns inf
    return std::pow(b.to_double(), e.to_double());
  }
  double b = x.to_double(), e = y.to_double();
  if (b == 0 && e < 0) return kInf;
  if (b < 0 && std::isfinite(b) && std::isfinite(e) && e != std::floor(e)) return kNan;
  double r = std::pow(b, e);
  if (std::isinf(r) && std::isfinite(b) && std::isfinite(e))
    throw Failure("the result of a power is too large for a float");
  return r;
}

Const eval_unary(Op op, Const x) {
  switch (op) {
    case Op::LOG2: return log2_of(x);
    case Op::EXP2: return exp2_of(x);
    case Op::SQRT:
      return py_less(x, 0) || (x.is_float() && std::isnan(x.as_float())) ? Const(kNan)
                                                                         : Const(std::sqrt(x.to_double()));
    case Op::RECIPROCAL: return py_equal(x, 0) ? Const(std::copysign(kInf, x.to_double())) : Const(1.0 / x.to_double());
    case Op::SIN: return x.is_float() && std::isinf(x.as_float()) ? Const(kNan) : Const(std::sin(x.to_double()));
    case Op::TRUNC: return x.to_int();
    case Op::NEG: return py_neg(x);
    default: throw_unsupported(op);
  }
}

uint32_t shift_count(Int n) {
  if (n < 0) throw Failure("negative shift count");
  return n > UINT32_MAX ? UINT32_MAX : uint32_t(n.small_value());
}

Const eval_binary(Op op, Const x, Const y) {
  auto integral = [&] {
    if (!x.is_integral() || !y.is_integral()) throw Failure("Ops." + std::string(name_of(op)) + " of a float");
  };
  bool bools = x.is_bool() && y.is_bool();
  switch (op) {
    case Op::ADD: return py_add(x, y);
    case Op::SUB: return py_sub(x, y);
    case Op::MUL: return py_mul(x, y);
    case Op::CMPNE: return !py_equal(x, y);
    case Op::CMPEQ: return py_equal(x, y);
    case Op::CMPLT: return py_less(x, y);
    case Op::MAX: return py_max(x, y);
    case Op::POW: return pow_of(x, y);
    case Op::XOR: return integral(), bools ? Const(x.truthy() != y.truthy()) : Const(x.as_int() ^ y.as_int());
    case Op::OR: return integral(), bools ? Const(x.truthy() || y.truthy()) : Const(x.as_int() | y.as_int());
    case Op::AND: return integral(), bools ? Const(x.truthy() && y.truthy()) : Const(x.as_int() & y.as_int());
    case Op::SHL: return integral(), Const(x.as_int() << shift_count(y.as_int()));
    case Op::SHR: return integral(), Const(x.as_int() >> shift_count(y.as_int()));
    case Op::IDIV: return integral(), Const(cdiv(x.as_int(), y.as_int()));
    case Op::MOD: return integral(), Const(cmod(x.as_int(), y.as_int()));
    default: throw_unsupported(op);
  }
}

Const scalar_alu(Op op, DType dtype, std::span<const Const> v, bool truncated) {
  if (dtype == dtypes::index && ops::Binary.contains(op) && (v[0].is_invalid() || v[1].is_invalid()))
    return Const::invalid();
  Const out = ops::Unary.contains(op)    ? eval_unary(op, v[0])
              : ops::Binary.contains(op) ? eval_binary(op, v[0], v[1])
              : op == Op::WHERE          ? (v[0].truthy() ? v[1] : v[2])
              : op == Op::MULACC         ? py_add(py_mul(v[0], v[1]), v[2])
                                         : (throw_unsupported(op), Const());
  return truncated ? truncate(out, dtype) : out;
}

}  // namespace

Arg exec_alu(Graph& graph, Op op, DType dtype, std::span<const Arg> operands, bool truncated) {
  Const values[3];
  const size_t wanted = ops::Unary.contains(op) ? 1 : ops::Ternary.contains(op) ? 3 : 2;
  if (operands.size() != wanted)  // graphs of other releases are not checked when they are read
    throw Failure("constant folding of an op with " + count_text(operands.size(), "operand"));
  if (dtype.count() <= 1) {
    for (size_t i = 0; i < operands.size(); i++) {
      if (!operands[i].is_const()) throw Failure("constant folding of " + operands[i].repr());
      values[i] = operands[i].to_const();
    }
    return scalar_alu(op, dtype, {values, operands.size()}, truncated);
  }
  std::vector<Arg> out;
  for (int k = 0; k < dtype.count(); k++) {
    for (size_t i = 0; i < operands.size(); i++) {
      Arg a = operands[i];
      if (a.is_tuple()) {
        if (a.items().size() <= size_t(k))
          throw Failure("constant vector " + a.repr() + " is shorter than " + std::string(dtype.repr()));
        a = a[size_t(k)];
      }
      values[i] = a.to_const();
    }
    out.push_back(scalar_alu(op, dtype.scalar(), {values, operands.size()}, true));
  }
  return graph.tuple(out);
}

namespace {
std::vector<Const> to_consts(Arg tuple) {
  std::vector<Const> values;
  for (Arg a : tuple.items()) values.push_back(a.to_const());
  return values;
}
}  // namespace

UOp const_from_arg(Graph& graph, DType dtype, Arg value) {
  return value.is_tuple() ? graph.constant(dtype, to_consts(value)) : graph.constant(dtype, value.to_const());
}

UOp const_like_arg(UOp u, Arg value) {
  return value.is_tuple() ? u.const_like(to_consts(value)) : u.const_like(value.to_const());
}

Const identity_element(Op op, DType dtype) {
  switch (op) {
    case Op::ADD: return dtypes::as_const(0, dtype);
    case Op::MUL: return dtypes::as_const(1, dtype);
    case Op::MAX: return dtypes::min(dtype);
    default: throw Failure("Ops." + std::string(name_of(op)) + " has no identity element");
  }
}

}  // namespace tgc
