// Floats and casts as SMT-LIB text.
#include <cmath>

#include "lib/prove/encode.h"
#include "lib/prove/smt_text.h"
#include "lib/uop/graph.h"

namespace tgc {

using namespace smt;

SmtValue Encoder::float_op(UOp u, int lane) {
  DType d = u.dtype().scalar();
  SmtValue a = source(u, 0, lane), b = u.num_src() > 1 ? source(u, 1, lane) : SmtValue();
  auto made = [&](const std::string& term) { return SmtValue{define(d, term), {}, defined(u, lane)}; };
  if (senses_.floats == FloatSense::Real) {
    switch (u.op()) {
      case Op::ADD: return made(call("+", a.term, b.term));
      case Op::SUB: return made(call("-", a.term, b.term));
      case Op::MUL: return made(call("*", a.term, b.term));
      case Op::NEG: return made(call("-", a.term));
      case Op::MULACC: return made(call("+", call("*", a.term, b.term), source(u, 2, lane).term));
      case Op::MAX: return made(ite(call("<", a.term, b.term), b.term, a.term));
      case Op::RECIPROCAL:
      case Op::FDIV: {  // a quotient by zero is no real number
        SmtValue out = made(u.is(Op::FDIV) ? call("/", a.term, b.term) : call("/", "1.0", a.term));
        out.defined = both(out.defined, "(not (= " + (u.is(Op::FDIV) ? b.term : a.term) + " 0.0))");
        return out;
      }
      default: return unknown(u, lane);
    }
  }
  if (is_ieee() && has_ieee_sort(d)) {
    switch (u.op()) {
      case Op::ADD: return made("(fp.add RNE " + a.term + " " + b.term + ")");
      case Op::SUB: return made("(fp.sub RNE " + a.term + " " + b.term + ")");
      case Op::MUL: return made("(fp.mul RNE " + a.term + " " + b.term + ")");
      case Op::FDIV: return made("(fp.div RNE " + a.term + " " + b.term + ")");
      case Op::NEG: return made(call("fp.neg", a.term));
      case Op::SQRT: return made("(fp.sqrt RNE " + a.term + ")");
      case Op::TRUNC: return made("(fp.roundToIntegral RTZ " + a.term + ")");
      case Op::RECIPROCAL: return made("(fp.div RNE " + float_literal(1, d) + " " + a.term + ")");
      case Op::MAX: return made(ite(call("fp.lt", a.term, b.term), b.term, a.term));
      default: break;
    }
  }
  // IEEE's sum and product do not depend on the order of their operands.
  if (u.in({Op::ADD, Op::MUL}) && b.term < a.term) {
    std::string name = std::string(tgc::name_of(u.op())) + "_" + (name_of_scalar(d)) + "_c", s = sort(d);
    std::string f = function(name, s + " " + s, s);
    return made("(" + f + " " + b.term + " " + a.term + ")");
  }
  if (u.in({Op::ADD, Op::MUL})) {
    std::string name = std::string(tgc::name_of(u.op())) + "_" + (name_of_scalar(d)) + "_c", s = sort(d);
    return made("(" + function(name, s + " " + s, s) + " " + a.term + " " + b.term + ")");
  }
  return unknown(u, lane);
}

SmtValue Encoder::cast(UOp u, int lane) {
  DType to = u.dtype().scalar(), from = u.src(0).dtype().scalar();
  // A float leaf is stored as a double. It may be any value of its own dtype.
  if (int64_t element = 0; dtypes::is_float(to) && is_leaf_load(u.src(0)))
    return fresh(intervals_.leaf_of(u.src(0), &element)->node, to, {}, element);
  SmtValue a = source(u, 0, lane);
  auto made = [&](const std::string& term) { return SmtValue{define(to, term), intervals_.of(u, lane), a.defined}; };
  if (to == from) return a;
  const bool bits = senses_.ints == IntSense::Bits;
  if (dtypes::is_bool(from)) {
    if (dtypes::is_int(to)) return made(ite(a.term, literal(1, to), literal(0, to)));
    return made(ite(a.term, float_literal(1, to), float_literal(0, to)));
  }
  if (dtypes::is_int(from)) {
    if (dtypes::is_bool(to)) return made("(not (= " + a.term + " " + literal(0, from) + "))");
    if (dtypes::is_int(to) && bits) {
      int w = width_of(to), v = width_of(from);
      if (w == v) return {a.term, intervals_.of(u, lane), a.defined};
      if (w < v) return made("((_ extract " + std::to_string(w - 1) + " 0) " + a.term + ")");
      return made("((_ " + std::string(is_signed(from) ? "sign" : "zero") + "_extend " + std::to_string(w - v) + ") " +
                  a.term + ")");
    }
    if (dtypes::is_int(to)) {
      Interval i = a.interval;
      bool fits = is_index(to) ||
                  (i.least && i.most && *i.least >= dtypes::min(to).to_int() && *i.most <= dtypes::max(to).to_int());
      return fits ? SmtValue{a.term, i, a.defined} : wrapped(a.term, u, lane);
    }
    if (senses_.floats == FloatSense::Real && !bits) return made("(to_real " + a.term + ")");
    // REF converts to float or double, and rounds narrow floats from these: one rounding only if the first is exact
    bool is_exact = a.interval.least && a.interval.most && a.interval.least->abs() <= Int::pow2(24) &&
                    a.interval.most->abs() <= Int::pow2(24);
    bool once = to.is(Scalar::Float32) || to.is(Scalar::Float64) || is_exact;
    if (is_ieee() && has_ieee_sort(to) && bits && once)
      return made("((_ " + std::string(is_signed(from) ? "to_fp " : "to_fp_unsigned ") + ieee_widths(to) + ") RNE " +
                  a.term + ")");
    return unknown(u, lane);
  }
  if (dtypes::is_float(from) && dtypes::is_float(to)) {
    if (senses_.floats == FloatSense::Real) return a;
    bool once = !(from.is(Scalar::Float64) && to.is(Scalar::BFloat16));
    if (is_ieee() && has_ieee_sort(from) && has_ieee_sort(to) && once)
      return made("((_ to_fp " + ieee_widths(to) + ") RNE " + a.term + ")");
    return unknown(u, lane);
  }
  if (dtypes::is_float(from) && dtypes::is_bool(to)) {
    if (senses_.floats == FloatSense::Real) return made("(not (= " + a.term + " 0.0))");
    if (is_ieee() && has_ieee_sort(from)) return made("(not (fp.isZero " + a.term + "))");
    return unknown(u, lane);
  }
  if (dtypes::is_float(from) && dtypes::is_int(to)) {
    if (senses_.floats == FloatSense::Real && !bits && !is_index(to)) {
      SmtValue out = made(ite("(>= " + a.term + " 0.0)", call("to_int", a.term), "(- (to_int (- " + a.term + ")))"));
      out.defined = both(out.defined, "(and (<= " + literal(dtypes::min(to).to_int(), to) + " " + out.term +
                                          ") (<= " + out.term + " " + literal(dtypes::max(to).to_int(), to) + "))");
      return out;
    }
    SmtValue out = unknown(u, lane);  // its value outside the integer's range is undefined
    std::string fits = function("fits_" + (name_of_scalar(to)) + "_" + (name_of_scalar(from)), sort(from), "Bool");
    if (is_ieee() && has_ieee_sort(from) && bits && !is_index(to)) {
      const bool s = is_signed(to);
      double low = s ? -std::ldexp(1, to.bitsize() - 1) : 0, high = std::ldexp(1, to.bitsize() - (s ? 1 : 0));
      std::string whole = define(from, "(fp.roundToIntegral RTZ " + a.term + ")");
      if (from.is(Scalar::Float16) && to.bitsize() > 16) high = INFINITY, low = s ? -65504 : 0;
      std::string in = "(and (fp.leq " + float_literal(low, from) + " " + whole + ") (fp.lt " + whole + " " +
                       float_literal(high, from) + "))";
      return {define(to, ite(in,
                             "((_ " + std::string(s ? "fp.to_sbv " : "fp.to_ubv ") + std::to_string(to.bitsize()) +
                                 ") RTZ " + a.term + ")",
                             out.term)),
              intervals_.of(u, lane), both(a.defined, in)};
    }
    out.defined = both(out.defined, call(fits, a.term));
    return out;
  }
  return unknown(u, lane);
}

std::string Encoder::equal(const SmtValue& a, DType da, const SmtValue& b, DType db) const {
  if (dtypes::is_float(da) || dtypes::is_bool(da) || dtypes::is_float(db) || dtypes::is_bool(db)) {
    if (da.scalar() != db.scalar() && senses_.floats != FloatSense::Real)
      throw Unencodable{"sides of different dtypes"};
    bool as_numbers = dtypes::is_float(da) && senses_.floats == FloatSense::Finite && has_ieee_sort(da);
    return call(as_numbers ? "fp.eq" : "=", a.term, b.term);
  }
  auto wide = [&](const SmtValue& v, DType d) {
    if (senses_.ints == IntSense::Numbers || width_of(d) == 64 || width_of(da) == width_of(db)) return v.term;
    return "((_ " + std::string(is_signed(d) ? "sign" : "zero") + "_extend " + std::to_string(64 - width_of(d)) + ") " +
           v.term + ")";
  };
  return call("=", wide(a, da), wide(b, db));
}

}  // namespace tgc
