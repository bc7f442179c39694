// Functions of SmtEncoder that encode floats, casts, the equality of values, and THREEFRY.
#include <algorithm>
#include <cmath>

#include "lib/prove/encode.h"
#include "lib/prove/smt_text.h"
#include "lib/uop/graph.h"

namespace tgc {

using namespace smt;

// For FloatSense::Finite, assumes that `result` is finite if the operands are.
void SmtEncoder::assume_finite(const std::string& result, const std::vector<std::string>& operands) {
  if (senses_.float_sense != FloatSense::Finite) return;
  auto finite = [](const std::string& x) { return "(not (or (fp.isNaN " + x + ") (fp.isInfinite " + x + ")))"; };
  std::string all;
  for (const std::string& x : operands) all += " " + finite(x);
  assumptions_.push_back(operands.empty() ? finite(result) : "(=> (and" + all + ") " + finite(result) + ")");
}

// Returns true if `u` is known to be computed without rounding, and so has the same value over the reals.
bool SmtEncoder::is_exact_real(UOp u, int depth) const {
  constexpr int kMostDepth = 16;
  if (!dtypes::is_float(u.dtype()) || cut_nodes_.contains(u.id()) || u.in({Op::CONST, Op::VCONST, Op::LOAD}))
    return true;
  if (depth > kMostDepth) return false;
  auto all = [&](size_t first) {
    return std::ranges::all_of(u.src().subspan(first), [&](UOp s) { return is_exact_real(s, depth + 1); });
  };
  if (u.is(Op::WHERE)) return all(1);
  if (u.is(Op::CAST)) return can_lossless_cast(u.src(0).dtype().scalar(), u.dtype().scalar()) && all(0);
  return u.in({Op::MAX, Op::NEG, Op::VECTORIZE, Op::GEP, Op::CAT}) && all(0);
}

// Encodes a value that rounding may change by any amount as an unknown value.
SmtValue SmtEncoder::rounded_value(UOp u, int lane) {
  has_unknown_ = true;
  SmtValue out = fresh_value(u, u.dtype().scalar(), intervals_.interval_of(u, lane), lane);
  out.definedness = definedness(u, lane);
  return out;
}

// Encodes the reciprocal of a product as the product of the reciprocals, because Z3 cannot prove that they are equal if
// there are several factors.
std::string SmtEncoder::real_reciprocal(UOp u, const SmtValue& value, int lane) {
  if (!u.is(Op::MUL)) return smt_call("/", "1.0", value.term);
  const SmtValue a = source_value(u, 0, lane), b = source_value(u, 1, lane);
  return smt_call("*", real_reciprocal(u.src(0), a, lane), real_reciprocal(u.src(1), b, lane));
}

SmtValue SmtEncoder::float_op_value(UOp u, int lane) {
  DType d = u.dtype().scalar();
  SmtValue a = source_value(u, 0, lane), b = u.num_src() > 1 ? source_value(u, 1, lane) : SmtValue();
  auto made = [&](const std::string& term) { return SmtValue{define_term(d, term), {}, definedness(u, lane)}; };
  if (senses_.float_sense == FloatSense::Real) {
    switch (u.op()) {
      case Op::ADD: return made(smt_call("+", a.term, b.term));
      case Op::SUB: return made(smt_call("-", a.term, b.term));
      case Op::MUL: return made(smt_call("*", a.term, b.term));
      case Op::NEG: return made(smt_call("-", a.term));
      case Op::MULACC: return made(smt_call("+", smt_call("*", a.term, b.term), source_value(u, 2, lane).term));
      case Op::MAX: return made(smt_if(smt_call("<", a.term, b.term), b.term, a.term));
      case Op::RECIPROCAL:
      case Op::FDIV: {  // the quotient is defined only if the divisor is not zero
        SmtValue out = made(u.is(Op::FDIV) ? smt_call("/", a.term, b.term) : real_reciprocal(u.src(0), a, lane));
        out.definedness = smt_and(out.definedness, "(not (= " + (u.is(Op::FDIV) ? b.term : a.term) + " 0.0))");
        return out;
      }
      case Op::TRUNC:
      case Op::MOD:  // TRUNC and MOD jump, so a rounded operand may change the result by any amount
        if (!std::ranges::all_of(u.src(), [&](UOp s) { return is_exact_real(s); })) return rounded_value(u, lane);
        [[fallthrough]];
      default: return unknown_value(u, lane);
    }
  }
  std::vector<std::string> terms{a.term};
  for (size_t i = 1; i < u.num_src(); i++) terms.push_back(source_value(u, i, lane).term);
  SmtValue out = made(float_term(u.op(), d, terms));
  if (is_ieee() && has_ieee_sort(d)) assume_finite(out.term, terms);
  return out;
}

// Throws UnencodableExpr if the estimated effort of all IEEE ops is too large for Z3.
void SmtEncoder::add_ieee_cost(Op op, DType d, const std::vector<std::string>& x) {
  constexpr double kMost = 8;
  const double by_width = d.bitsize() == 64 ? 1 : d.bitsize() == 32 ? 0.5 : 0.125;
  const bool is_quotient = op == Op::FDIV || op == Op::RECIPROCAL || op == Op::SQRT;
  auto is_literal = [](const std::string& term) { return term.starts_with('('); };  // all other values are names
  if (std::ranges::all_of(x, is_literal)) return;
  const double by_operands = std::ranges::any_of(x, is_literal) ? 0.5 : 1;
  ieee_cost_ += by_operands * by_width *
                (is_quotient                      ? 8
                 : op == Op::MUL                  ? 3
                 : op == Op::ADD || op == Op::SUB ? 0.5
                                                  : 0);
  if (ieee_cost_ > kMost) throw UnencodableExpr{"too many products and quotients of IEEE 754"};
}

std::string SmtEncoder::float_term(Op op, DType d, const std::vector<std::string>& x) {
  if (is_ieee() && has_ieee_sort(d)) {
    add_ieee_cost(op, d, x);
    switch (op) {
      case Op::ADD: return "(fp.add RNE " + x[0] + " " + x[1] + ")";
      case Op::SUB: return "(fp.sub RNE " + x[0] + " " + x[1] + ")";
      case Op::MUL:  // encode x * 1 as x and x * -1 as -x, because products are hard for Z3
        for (size_t i : {0, 1})
          for (double sign : {1.0, -1.0})
            if (x[i] == float_literal(sign, d)) return sign > 0 ? x[1 - i] : smt_call("fp.neg", x[1 - i]);
        return "(fp.mul RNE " + x[0] + " " + x[1] + ")";
      case Op::FDIV: return "(fp.div RNE " + x[0] + " " + x[1] + ")";
      case Op::NEG: return smt_call("fp.neg", x[0]);
      case Op::SQRT: return "(fp.sqrt RNE " + x[0] + ")";
      case Op::TRUNC: return "(fp.roundToIntegral RTZ " + x[0] + ")";
      case Op::RECIPROCAL: return "(fp.div RNE " + float_literal(1, d) + " " + x[0] + ")";
      case Op::MAX: return smt_if(smt_call("fp.lt", x[0], x[1]), x[1], x[0]);
      default: break;
    }
  }
  if (is_narrow_float(d)) {
    std::vector<std::string> wide;
    for (const std::string& term : x) wide.push_back(float_cast(d, dtypes::float32, term));
    return float_cast(dtypes::float32, d, float_term(op, dtypes::float32, wide));
  }
  const std::string s = smt_sort(d), scalar = name_of_scalar(d);
  std::string name = std::string(tgc::name_of(op)) + "_" + scalar, sorts, terms;
  std::vector<std::string> sorted = x;
  // sort the operands of a sum or product, because IEEE 754 gives the same result for both orders
  if (op == Op::ADD || op == Op::MUL) std::ranges::sort(sorted), name += "_c";
  for (const std::string& term : sorted)
    name += "_" + scalar, sorts += (sorts.empty() ? "" : " ") + s, terms += " " + term;
  return "(" + declare_function(name, sorts, s) + terms + ")";
}

// Rounds as REF does: a float64 is rounded once to float16, but twice (through float32) to other narrow dtypes.
std::string SmtEncoder::float_cast(DType from, DType to, const std::string& x) {
  if (from == to) return x;
  if (is_over_reals()) {  // a cast to a wider float changes no value; one to a narrower float is an unknown function
    if (can_lossless_cast(from, to)) return x;
    const std::string name = "CAST_" + name_of_scalar(to) + "_real";
    const std::string f = declare_function(name, "Real", "Real"), term = define_term(to, smt_call(f, x));
    smt_text_ += "(assert (= " + smt_call(f, term) + " " + term + "))\n";
    return term;
  }
  const DType f32 = dtypes::float32;
  if (is_narrow_float(from) && to != f32) return float_cast(f32, to, float_cast(from, f32, x));
  if (from.is(Scalar::Float64) && is_narrow_float(to) && !to.is(Scalar::Float16))
    return float_cast(f32, to, float_cast(from, f32, x));
  if (is_ieee() && has_ieee_sort(from) && has_ieee_sort(to))
    return "((_ to_fp " + ieee_widths_text(to) + ") RNE " + x + ")";
  const std::string out = "CAST_" + name_of_scalar(to) + "_" + name_of_scalar(from);
  const std::string term = define_term(to, smt_call(declare_function(out, smt_sort(from), smt_sort(to)), x));
  if (can_lossless_cast(from, to)) {
    const std::string back = "CAST_" + name_of_scalar(from) + "_" + name_of_scalar(to);
    smt_text_ +=
        "(assert (= " + smt_call(declare_function(back, smt_sort(to), smt_sort(from)), term) + " " + x + "))\n";
  }
  return term;
}

SmtValue SmtEncoder::bitcast_value(UOp u, int lane) {
  DType to = u.dtype().scalar(), from = u.src(0).dtype().scalar();
  if (u.dtype().count() != u.src(0).dtype().count()) return fresh_value(u, to, intervals_.interval_of(u, lane), lane);
  SmtValue a = source_value(u, 0, lane);
  const bool is_bits = senses_.int_sense == IntSense::Bits;
  if (dtypes::is_int(from) && dtypes::is_int(to)) {
    if (!is_bits) return wrapped_value(a.exact_term(), u, lane);
    return {a.term, intervals_.interval_of(u, lane), a.definedness};
  }
  if (is_over_reals() && !is_exact_real(u.src(0))) return rounded_value(u, lane);
  if (is_bits && is_ieee() && dtypes::is_int(from) && has_ieee_sort(to))
    return {define_term(to, "((_ to_fp " + ieee_widths_text(to) + ") " + a.term + ")"), {}, a.definedness};
  SmtValue out = unknown_value(u, lane);
  // assert the inverse, because SMT-LIB has no function from a float to its bits: a NaN has many bit patterns
  if (is_bits && is_ieee() && has_ieee_sort(from) && dtypes::is_int(to))
    smt_text_ += "(assert (= ((_ to_fp " + ieee_widths_text(from) + ") " + out.term + ") " + a.term + "))\n";
  return out;
}

namespace {
bool holds_all_values(DType to, DType from) {
  if (is_index(from) || !dtypes::is_float(to) || to.bitsize() < 16) return false;
  if (dtypes::is_bool(from)) return true;
  if (dtypes::is_float(from)) {
    auto [exponent, mantissa] = dtypes::finfo(from);
    return exponent <= dtypes::finfo(to).exponent_bits && mantissa <= dtypes::finfo(to).mantissa_bits;
  }
  return from.bitsize() - is_signed(from) <= dtypes::finfo(to).mantissa_bits + 1;
}
}  // namespace

// Encodes two casts, the first to a float dtype that holds all values of the source, as one cast.
SmtValue SmtEncoder::exact_cast_value(UOp u, int lane) {
  UOp whole = u.src(0).src(0);
  DType to = u.dtype().scalar(), from = whole.dtype().scalar();
  SmtValue out = cast_value(u.graph().node(Op::CAST, u.dtype(), whole), lane);
  if (!dtypes::is_int(to) || is_index(to) || !dtypes::is_int(from)) return out;
  const SmtValue& a = value(whole, whole.dtype().count() > 1 ? lane : 0);
  Int low = dtypes::min(to).to_int(), high = dtypes::max(to).to_int();
  auto is_beyond = [&](const Int& v) { return v < dtypes::min(from).to_int() || v > dtypes::max(from).to_int(); };
  const bool is_bits = senses_.int_sense == IntSense::Bits;
  const char* le = !is_bits ? "<=" : is_signed(from) ? "bvsle" : "bvule";
  if (!is_beyond(low)) out.definedness = smt_and(out.definedness, smt_call(le, int_literal(low, from), a.term));
  if (!is_beyond(high)) out.definedness = smt_and(out.definedness, smt_call(le, a.term, int_literal(high, from)));
  return out;
}

SmtValue SmtEncoder::cast_value(UOp u, int lane) {
  DType to = u.dtype().scalar(), from = u.src(0).dtype().scalar();
  if (UOp s = u.src(0); s.is(Op::CAST) && !cut_nodes_.contains(s.id()) && !node_aliases_.contains(s.id()) &&
                        !is_leaf_load(s.src(0)) && holds_all_values(from, s.src(0).dtype().scalar()))
    return exact_cast_value(u, lane);
  // a float leaf is stored as a double, but its value may be any of its own dtype
  if (int64_t element = 0; dtypes::is_float(to) && is_leaf_load(u.src(0)))
    return fresh_value(intervals_.leaf_of_load(u.src(0), &element)->node, to, {}, element);
  SmtValue a = source_value(u, 0, lane);
  auto made = [&](const std::string& term) {
    return SmtValue{define_term(to, term), intervals_.interval_of(u, lane), a.definedness};
  };
  if (to == from) return a;
  if (is_over_reals() && dtypes::is_float(from) && !dtypes::is_float(to) && !is_exact_real(u.src(0)))
    return rounded_value(u, lane);
  if (is_narrow_float(from) && !dtypes::is_float(to) && senses_.float_sense != FloatSense::Real)
    a.term = float_cast(from, dtypes::float32, a.term), from = dtypes::float32;
  if (dtypes::is_bool(from)) {
    if (dtypes::is_int(to)) return made(smt_if(a.term, int_literal(1, to), int_literal(0, to)));
    return made(smt_if(a.term, float_literal(1, to), float_literal(0, to)));
  }
  if (dtypes::is_int(from)) return value_of_int_cast(u, a, lane);
  return dtypes::is_float(from) ? value_of_float_cast(u, a, from, lane) : unknown_value(u, lane);
}

SmtValue SmtEncoder::value_of_int_cast(UOp u, const SmtValue& a, int lane) {
  const DType to = u.dtype().scalar(), from = u.src(0).dtype().scalar();
  auto made = [&](const std::string& term) {
    return SmtValue{define_term(to, term), intervals_.interval_of(u, lane), a.definedness};
  };
  const bool is_bits = senses_.int_sense == IntSense::Bits;
  if (dtypes::is_bool(to)) return made("(not (= " + a.term + " " + int_literal(0, from) + "))");
  if (dtypes::is_int(to) && is_bits) {
    int w = bit_width(to), v = bit_width(from);
    if (w == v) return {a.term, intervals_.interval_of(u, lane), a.definedness};
    if (w < v) return made("((_ extract " + std::to_string(w - 1) + " 0) " + a.term + ")");
    return made(extended_term(a.term, from, w));
  }
  if (dtypes::is_int(to)) {
    Interval i = a.interval;
    bool fits = is_index(to) || (i.lower_bound && i.upper_bound && *i.lower_bound >= dtypes::min(to).to_int() &&
                                 *i.upper_bound <= dtypes::max(to).to_int());
    if (fits) return {a.term, i, a.definedness, bit_width_of(to) <= bit_width_of(from) ? a.unwrapped_term : ""};
    return wrapped_value(bit_width_of(to) <= bit_width_of(from) ? a.exact_term() : a.term, u, lane);
  }
  if (is_over_reals() && !is_bits) {
    const std::string real = define_term(to, "(to_real " + a.term + ")");
    const bool fits = to.bitsize() >= 32 || can_lossless_cast(from, to);
    return made(fits ? real : float_cast(dtypes::float64, to, real));
  }
  // REF converts an integer to float32 or float64, and rounds the result to a narrow float
  DType first = !is_narrow_float(to) ? to : to.is(Scalar::Float16) ? dtypes::float64 : dtypes::float32;
  std::string term;
  if (is_ieee() && is_bits)
    term = "((_ " + std::string(is_signed(from) ? "to_fp " : "to_fp_unsigned ") + ieee_widths_text(first) + ") RNE " +
           a.term + ")";
  else {  // an unknown function; with IntSense::Numbers, the same for all integer dtypes
    const std::string name = "CAST_" + name_of_scalar(first) + "_" + (is_bits ? name_of_scalar(from) : "integer");
    term = smt_call(declare_function(name, smt_sort(from), smt_sort(first)), a.term);
  }
  SmtValue out = made(float_cast(first, to, term));
  if (!is_ieee() && can_lossless_cast(from, to) && !is_narrow_float(to)) {
    const std::string dtypes_of = name_of_scalar(from) + "_" + name_of_scalar(to);
    for (auto& [name, result] :
         {std::pair("CAST_" + dtypes_of, smt_sort(from)), std::pair("fits_" + dtypes_of, std::string("Bool"))})
      declare_function(name, smt_sort(to), result);
    smt_text_ += "(assert (and (= (CAST_" + dtypes_of + " " + out.term + ") " + a.term + ") (fits_" + dtypes_of + " " +
             out.term + ")))\n";
  }
  return out;
}

SmtValue SmtEncoder::value_of_float_cast(UOp u, const SmtValue& a, DType from, int lane) {
  const DType to = u.dtype().scalar();
  auto made = [&](const std::string& term) {
    return SmtValue{define_term(to, term), intervals_.interval_of(u, lane), a.definedness};
  };
  const bool is_bits = senses_.int_sense == IntSense::Bits;
  if (dtypes::is_float(to)) return made(float_cast(from, to, a.term));
  if (dtypes::is_bool(to)) {
    if (senses_.float_sense == FloatSense::Real) return made("(not (= " + a.term + " 0.0))");
    if (is_ieee() && has_ieee_sort(from)) return made("(not (fp.isZero " + a.term + "))");
    return made(smt_call(declare_function("CAST_bool_" + name_of_scalar(from), smt_sort(from), "Bool"), a.term));
  }
  if (!dtypes::is_int(to)) return unknown_value(u, lane);
  if (senses_.float_sense == FloatSense::Real && !is_bits && !is_index(to)) {
    SmtValue out =
        made(smt_if("(>= " + a.term + " 0.0)", smt_call("to_int", a.term), "(- (to_int (- " + a.term + ")))"));
    out.definedness =
        smt_and(out.definedness, "(and (<= " + int_literal(dtypes::min(to).to_int(), to) + " " + out.term +
                                     ") (<= " + out.term + " " + int_literal(dtypes::max(to).to_int(), to) + "))");
    return out;
  }
  // the cast of a float outside of the integer's range is undefined
  const std::string dtypes_of = name_of_scalar(to) + "_" + name_of_scalar(from);
  SmtValue out = made(smt_call(declare_function("CAST_" + dtypes_of, smt_sort(from), smt_sort(to)), a.term));
  assert_interval(out.term, out.interval, to);
  std::string fits = declare_function("fits_" + dtypes_of, smt_sort(from), "Bool");
  if (is_ieee() && has_ieee_sort(from) && is_bits && !is_index(to)) {
    const bool s = is_signed(to);
    double low = s ? -std::ldexp(1, to.bitsize() - 1) : 0, high = std::ldexp(1, to.bitsize() - (s ? 1 : 0));
    std::string whole = define_term(from, "(fp.roundToIntegral RTZ " + a.term + ")");
    std::string in = "(and (fp.leq " + float_literal(low, from) + " " + whole + ") (fp.lt " + whole + " " +
                     float_literal(high, from) + "))";
    return {define_term(to, smt_if(in,
                           "((_ " + std::string(s ? "fp.to_sbv " : "fp.to_ubv ") + std::to_string(to.bitsize()) +
                               ") RTZ " + a.term + ")",
                           out.term)),
            intervals_.interval_of(u, lane), smt_and(a.definedness, in)};
  }
  out.definedness = smt_and(out.definedness, smt_call(fits, a.term));
  return out;
}

std::string SmtEncoder::equality_formula(const SmtValue& a, DType da, const SmtValue& b, DType db) const {
  if (dtypes::is_float(da) || dtypes::is_bool(da) || dtypes::is_float(db) || dtypes::is_bool(db)) {
    if (da.scalar() != db.scalar() && senses_.float_sense != FloatSense::Real)
      throw UnencodableExpr{"sides of different dtypes"};
    const bool is_any_zero = senses_.float_sense == FloatSense::ButNan || senses_.float_sense == FloatSense::Finite;
    const std::string same = smt_call("=", a.term, b.term);  // this is true for two NaNs, too
    if (!dtypes::is_float(da) || !is_any_zero || !has_ieee_sort(da)) return same;
    return smt_call("or", same, smt_call("fp.eq", a.term, b.term));
  }
  auto wide = [&](const SmtValue& v, DType d) {
    const bool is_same = senses_.int_sense == IntSense::Numbers || bit_width(da) == bit_width(db);
    return is_same ? v.term : extended_term(v.term, d, senses_.index_width_bits);
  };
  std::string same = smt_call("=", wide(a, da), wide(b, db));
  if (a.unwrapped_term.empty() && b.unwrapped_term.empty()) return same;
  // equal polynomials are also equal modulo 2**n
  return smt_call("or", smt_call("=", a.exact_term(), b.exact_term()), same);
}

using namespace smt;

SmtValue SmtEncoder::threefry_value(UOp u, int lane) {
  constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const DType word = dtypes::uint32;
  auto part = [&](const std::string& x, const char* bits) {
    return define_term(word, "((_ extract " + std::string(bits) + ") " + x + ")");
  };
  auto sum = [&](const std::string& a, const std::string& b) { return define_term(word, smt_call("bvadd", a, b)); };
  const std::string x = source_value(u, 0, lane).term, key = source_value(u, 1, lane).term;
  const std::string low = part(key, "31 0"), high = part(key, "63 32");
  const std::string keys[] = {
      high, define_term(word, smt_call("bvxor", smt_call("bvxor", low, high), int_literal(0x1BD11BDA, word))), low};
  std::string a = sum(part(x, "31 0"), keys[2]), b = sum(part(x, "63 32"), keys[0]);
  for (int i = 0; i < 5; i++) {
    for (int r : kRotations[i % 2]) {
      a = sum(a, b);
      b = define_term(word, smt_call("bvxor", a, "((_ rotate_left " + std::to_string(r) + ") " + b + ")"));
    }
    a = sum(a, keys[i % 3]);
    b = sum(sum(b, keys[(i + 1) % 3]), int_literal(i + 1, word));
  }
  return {define_term(u.dtype(), smt_call("concat", b, a)), intervals_.interval_of(u, lane), definedness(u, lane)};
}

}  // namespace tgc
