#include "lib/prove/encode.h"

#include <bit>
#include <cmath>

#include "lib/prove/smt_text.h"
#include "lib/uop/graph.h"

namespace tgc {

using namespace smt;

namespace {

std::string rational_literal(double v) {
  int exponent;
  double mantissa = std::frexp(std::fabs(v), &exponent);
  Int digits = Int::trunc(std::ldexp(mantissa, 53));
  exponent -= 53;
  std::string text = exponent >= 0 ? (digits << uint32_t(exponent)).str() + ".0"
                                   : "(/ " + digits.str() + ".0 " + Int::pow2(uint32_t(-exponent)).str() + ".0)";
  return v < 0 ? "(- " + text + ")" : text;
}

std::optional<Int> single_value_of(const Interval& i) {
  return i.lower_bound && i.lower_bound == i.upper_bound ? i.lower_bound : std::nullopt;
}
bool is_natural(const Interval& i) { return i.lower_bound && *i.lower_bound >= 0; }

std::optional<int> log2_if_power_of_two(const Interval& i) {
  auto n = single_value_of(i);
  if (!n || *n <= 0 || (*n & (*n - 1)) != 0) return {};
  return int(n->bit_length()) - 1;
}

// Returns true if it is clear that no bit is set in both operands of the sum, as in x*8 + y for 0 <= y < 8. Z3 can
// prove more about a bitwise `or`.
bool has_no_carry(UOp sum, const SmtValue& a, const SmtValue& b) {
  for (size_t i : {0, 1}) {
    const UOp scaled = sum.src(i);
    const Interval& other = i ? a.interval : b.interval;
    if (!scaled.is(Op::MUL) || !scaled.src(1).is_const() || !scaled.src(1).arg().is_int()) continue;
    const Int by = scaled.src(1).arg().as_int();
    if (by > 0 && (by & (by - 1)) == 0 && is_natural(other) && other.upper_bound && *other.upper_bound < by)
      return true;
  }
  return false;
}

}  // namespace

std::optional<std::pair<UOp, int>> lane_source(UOp u, int lane) {
  if (u.is(Op::GEP) && u.arg().is_tuple()) return {{u.src(0), int(u.arg()[size_t(lane)].small_int())}};
  if (u.is(Op::VECTORIZE)) return {{u.src(size_t(lane)), 0}};
  if (!u.is(Op::CAT)) return std::nullopt;
  size_t i = 0;
  for (; lane >= u.src(i).dtype().count(); i++) lane -= u.src(i).dtype().count();
  return {{u.src(i), lane}};
}

void SmtEncoder::check_index_fits(const Interval& i) const {
  const Int half = Int::pow2(uint32_t(senses_.index_width_bits - 1));
  if (!i.lower_bound || !i.upper_bound || *i.lower_bound < -half || *i.upper_bound >= half)
    throw UnencodableExpr{"an index of more than " + std::to_string(senses_.index_width_bits) + " bits", true};
}

int SmtEncoder::bit_width(DType d) const { return is_index(d) ? senses_.index_width_bits : bit_width_of(d); }

std::string SmtEncoder::extended_term(const std::string& term, DType d, int bits) const {
  const int more = bits - bit_width(d);
  const char* extend = is_signed(d) ? "sign" : "zero";
  return more <= 0 ? term : "((_ " + std::string(extend) + "_extend " + std::to_string(more) + ") " + term + ")";
}

std::string SmtEncoder::smt_sort(DType d) {
  if (dtypes::is_bool(d)) return "Bool";
  if (dtypes::is_int(d))
    return senses_.int_sense == IntSense::Numbers ? "Int" : "(_ BitVec " + std::to_string(bit_width(d)) + ")";
  has_floats_ = true;
  if (senses_.float_sense == FloatSense::Real) return "Real";
  if (is_ieee() && has_ieee_sort(d)) return "(_ FloatingPoint " + ieee_widths_text(d) + ")";
  std::string name = "F_" + (name_of_scalar(d));
  if (declared_names_.insert(name).second) smt_text_ += "(declare-sort " + name + " 0)\n";
  return name;
}

std::string SmtEncoder::int_literal(const Int& value, DType d) const {
  if (senses_.int_sense == IntSense::Numbers) return value < 0 ? "(- " + (-value).str() + ")" : value.str();
  int w = bit_width(d);
  if (is_index(d)) check_index_fits({value, value});
  Int m = Int::pow2(uint32_t(w));
  return "(_ bv" + floor_mod(value, m).str() + " " + std::to_string(w) + ")";
}

std::string SmtEncoder::float_literal(double value, DType d) {
  std::string s = smt_sort(d);
  if (senses_.float_sense == FloatSense::Real) {
    if (!std::isfinite(value)) throw UnencodableExpr{"an infinite or NaN constant among the reals"};
    return rational_literal(value);
  }
  if (is_ieee() && has_ieee_sort(d)) {
    std::string w = ieee_widths_text(d);
    if (std::isnan(value)) return "(_ NaN " + w + ")";
    if (std::isinf(value)) return std::string(value < 0 ? "(_ -oo " : "(_ +oo ") + w + ")";
    if (value == 0) return std::string(std::signbit(value) ? "(_ -zero " : "(_ +zero ") + w + ")";
    char bits[72];
    std::snprintf(bits, sizeof bits, "#x%016llx", static_cast<unsigned long long>(std::bit_cast<uint64_t>(value)));
    std::string exact = "((_ to_fp 11 53) " + std::string(bits) + ")";
    return d.is(Scalar::Float64) ? exact : "((_ to_fp " + w + ") RNE " + exact + ")";
  }
  // an unknown constant of the sort, named after the value
  char name[64];
  std::snprintf(
      name, sizeof name, "c_%016llx",
      static_cast<unsigned long long>(std::isnan(value) ? 0x7FF8000000000000ull : std::bit_cast<uint64_t>(value)));
  std::string full = s + "_" + name;
  if (declared_names_.insert(full).second) smt_text_ += "(declare-const " + full + " " + s + ")\n";
  return full;
}

std::string SmtEncoder::declare_function(const std::string& name, const std::string& arguments,
                                         const std::string& result) {
  if (declared_names_.insert(name).second)
    smt_text_ += "(declare-fun " + name + " (" + arguments + ") " + result + ")\n";
  has_unknown_ = true;
  return name;
}

std::string SmtEncoder::define_term(DType d, const std::string& term) {
  std::string s = smt_sort(d), name = "t" + std::to_string(num_names_++);
  smt_text_ += "(define-fun " + name + " () " + s + " " + term + ")\n";
  return name;
}

void SmtEncoder::assert_interval(const std::string& term, const Interval& i, DType d) {
  bool is_bits = senses_.int_sense == IntSense::Bits;
  if (is_bits && is_index(d)) check_index_fits(i);
  const char* le = !is_bits ? "<=" : is_signed(d) ? "bvsle" : "bvule";
  Interval all;
  if (!is_index(d)) all = {dtypes::min(d.scalar()).to_int(), dtypes::max(d.scalar()).to_int()};
  if (i.lower_bound && !(is_bits && i.lower_bound == all.lower_bound))
    smt_text_ += "(assert " + smt_call(le, int_literal(*i.lower_bound, d), term) + ")\n";
  if (i.upper_bound && !(is_bits && i.upper_bound == all.upper_bound))
    smt_text_ += "(assert " + smt_call(le, term, int_literal(*i.upper_bound, d)) + ")\n";
}

SmtValue SmtEncoder::fresh_value(UOp u, DType d, Interval interval, int64_t element, const std::string& at) {
  std::string s = smt_sort(d), name = "v" + std::to_string(num_names_++);
  smt_text_ += "(declare-const " + name + " " + s + ")\n";
  if (dtypes::is_int(d)) assert_interval(name, interval, d);
  if (has_ieee_sort(d) && is_ieee() && intervals_.is_finite_value(u)) assume_finite(name, {});
  variables_.push_back({name, u, element, at});
  return {name, interval};
}

const SmtValue& SmtEncoder::value(UOp root, int root_lane) {
  auto for_sources = [&](UOp u, int lane, auto&& need) {
    if (auto it = node_aliases_.find(u.id()); it != node_aliases_.end()) return need(it->second, lane);
    if (cut_nodes_.contains(u.id())) return;
    if (auto moved = lane_source(u, lane)) need(moved->first, moved->second);
    else if (u.in(ops::Elementwise) && !(u.is(Op::CAST) && is_leaf_load(u.src(0)))) for_each_lane_source(u, lane, need);
  };
  return encoded_values_.lane_value(root, root_lane, for_sources, [&](UOp u, int lane) {
    const auto it = node_aliases_.find(u.id());
    return it != node_aliases_.end() ? value(it->second, lane) : encode_value(u, lane);
  });
}

bool SmtEncoder::is_leaf_load(UOp u) const {
  return u.is(Op::LOAD) && dtypes::is_float(u.dtype()) && intervals_.leaf_of_load(u);
}

SmtValue SmtEncoder::source_value(UOp u, size_t i, int lane) {
  UOp s = u.src(i);
  return value(s, s.dtype().count() > 1 ? lane : 0);
}

std::string SmtEncoder::definedness(UOp u, int lane) {
  std::string out;
  for (size_t i = 0; i < u.num_src(); i++) out = smt_and(out, source_value(u, i, lane).definedness);
  return out;
}

SmtValue SmtEncoder::encode_value(UOp u, int lane) {
  DType d = u.dtype().scalar();
  if (cut_nodes_.contains(u.id())) return fresh_value(u, d, intervals_.interval_of(u, lane), lane);
  if (auto moved = lane_source(u, lane)) return value(moved->first, moved->second);
  switch (u.op()) {
    case Op::CONST:
    case Op::VCONST: return constant_value(u, lane);
    case Op::LOAD: return load_value(u);
    case Op::RANGE: return fresh_value(u, d, intervals_.interval_of(u, lane), 0);
    case Op::WHERE: return where_value(u, lane);
    case Op::CAST: return cast_value(u, lane);
    default: break;
  }
  if (u.in(ops::Comparison)) return comparison_value(u, lane);
  if (u.in(ops::ALU)) {
    if (dtypes::is_bool(d)) return bool_op_value(u, lane);
    if (dtypes::is_float(d)) return float_op_value(u, lane);
    return senses_.int_sense == IntSense::Bits ? bits_op_value(u, lane) : integer_op_value(u, lane);
  }
  if (u.is(Op::BITCAST) && u.src(0).dtype() == u.dtype()) return source_value(u, 0, lane);
  if (u.is(Op::BITCAST)) return bitcast_value(u, lane);
  return fresh_value(u, d, intervals_.interval_of(u, lane), lane);
}

SmtValue SmtEncoder::constant_value(UOp u, int lane) {
  DType d = u.dtype().scalar();
  Const c = u.arg().is_tuple() ? u.arg()[size_t(lane)].to_const() : u.arg().to_const();
  if (c.is_invalid()) throw UnencodableExpr{"Invalid as a number"};
  if (dtypes::is_bool(d)) return {c.truthy() ? "true" : "false"};
  if (dtypes::is_float(d)) return {float_literal(truncate(c, d).to_double(), d)};
  Int v = truncate(c, d).to_int();
  return {int_literal(v, d), {v, v}};
}

SmtValue SmtEncoder::load_value(UOp u) {
  DType d = u.dtype().scalar();
  int64_t element = 0;
  if (const ExprLeaf* leaf = intervals_.leaf_of_load(u, &element))
    return fresh_value(leaf->node, d, intervals_.interval_of(u, 0), element);
  UOp index = u.src(0);
  if (!index.is(Op::INDEX) || index.num_src() != 2 || u.dtype().count() != 1)
    return fresh_value(u, d, intervals_.interval_of(u, 0), 0);
  // ExprIsolator::load_at_place() takes the offset modulo the memory's size: ((at % n) + n) % n. Encode the offset `at`
  // itself, because a proof for a memory without bounds is also valid for a memory of n elements.
  UOp at = index.src(1);
  if (at.is(Op::MOD) && at.src(0).is(Op::ADD) && at.src(0).src(0).is(Op::MOD) && at.src(0).src(1) == at.src(1))
    at = at.src(0).src(0).src(0);
  if (at.is(Op::CAST) && is_index(at.dtype()) && dtypes::is_int(at.src(0).dtype())) at = at.src(0);
  SmtValue offset = value(at, 0);
  DType at_dtype = at.dtype();
  std::string term = offset.term, domain = smt_sort(at_dtype);
  if (senses_.int_sense == IntSense::Bits)
    term = extended_term(term, at_dtype, senses_.index_width_bits), domain = smt_sort(dtypes::index);
  size_t number = memory_numbers_.try_emplace(index.src(0).id(), memory_numbers_.size()).first->second;
  bool was = has_unknown_;
  std::string f = declare_function("m" + std::to_string(number), domain, smt_sort(d));
  has_unknown_ = was;  // undo what declare_function() sets: the contents of a memory are leaves, and no unknown op
  std::string name = define_term(d, smt_call(f, term));
  if (dtypes::is_int(d)) assert_interval(name, intervals_.interval_of(u, 0), d);
  if (is_ieee() && has_ieee_sort(d) && intervals_.is_finite_value(u)) assume_finite(name, {});
  variables_.push_back({name, u, 0, term});
  const std::string is_inside = bounds_formula(offset, at_dtype, intervals_.num_indexed_elements(index));
  return {name, intervals_.interval_of(u, 0), smt_and(offset.definedness, is_inside)};
}

std::string SmtEncoder::bounds_formula(const SmtValue& offset, DType d, int64_t size) const {
  const Interval& i = offset.interval;
  if (size < 0 || (i.lower_bound && *i.lower_bound >= 0 && i.upper_bound && *i.upper_bound < size)) return "";
  const bool is_bits = senses_.int_sense == IntSense::Bits;
  std::string out;
  if (!(i.lower_bound && *i.lower_bound >= 0) && (!is_bits || is_signed(d)))
    out = smt_call(is_bits ? "bvsle" : "<=", int_literal(0, d), offset.term);
  const bool can_exceed = is_index(d) || dtypes::max(d.scalar()).to_int() >= size;
  if (can_exceed && !(i.upper_bound && *i.upper_bound < size))
    out = smt_and(out, smt_call(!is_bits ? "<" : is_signed(d) ? "bvslt" : "bvult", offset.term, int_literal(size, d)));
  return out;
}

SmtValue SmtEncoder::unknown_value(UOp u, int lane) {
  // over the reals, an op is the same unknown function for all float dtypes
  auto part = [&](DType d) {
    return "_" + (senses_.float_sense == FloatSense::Real && dtypes::is_float(d) ? "real" : name_of_scalar(d));
  };
  std::string name = std::string(tgc::name_of(u.op())) + part(u.dtype()), sorts, terms;
  for (size_t i = 0; i < u.num_src(); i++) {
    DType s = u.src(i).dtype().scalar();
    name += part(s), sorts += (i ? " " : "") + smt_sort(s);
    terms += " " + source_value(u, i, lane).term;
  }
  std::string f = declare_function(name, sorts, smt_sort(u.dtype().scalar()));
  SmtValue out{define_term(u.dtype().scalar(), "(" + f + terms + ")"), intervals_.interval_of(u, lane),
               definedness(u, lane)};
  if (dtypes::is_int(u.dtype())) assert_interval(out.term, out.interval, u.dtype().scalar());
  return out;
}

// `term` is the exact result of an integer op, which wraps around if the dtype cannot represent it.
SmtValue SmtEncoder::wrapped_value(const std::string& term, UOp u, int lane) {
  DType d = u.dtype().scalar();
  Interval i = intervals_.interval_of(u, lane);
  std::string out = term, unwrapped;
  if (!is_index(d)) {
    // intervals_ returns the interval of the dtype if the exact result may lie outside of it
    bool may_wrap = i.lower_bound == dtypes::min(d).to_int() || i.upper_bound == dtypes::max(d).to_int();
    if (may_wrap) {
      has_bit_ops_ = true;
      out = unwrapped = define_term(dtypes::index, term);
      std::string m = Int::pow2(uint32_t(d.bitsize())).str(), half = Int::pow2(uint32_t(d.bitsize() - 1)).str();
      out = is_signed(d) ? "(- (mod (+ " + out + " " + half + ") " + m + ") " + half + ")"
                         : "(mod " + out + " " + m + ")";
    }
  }
  return {define_term(d, out), i, definedness(u, lane), unwrapped};
}

SmtValue SmtEncoder::integer_op_value(UOp u, int lane) {
  SmtValue a = source_value(u, 0, lane), b = u.num_src() > 1 ? source_value(u, 1, lane) : SmtValue();
  DType d = u.dtype().scalar();
  Interval i = intervals_.interval_of(u, lane);
  auto made = [&](const std::string& term) { return SmtValue{define_term(d, term), i, definedness(u, lane)}; };
  switch (u.op()) {
    case Op::ADD: return wrapped_value(smt_call("+", a.exact_term(), b.exact_term()), u, lane);
    case Op::SUB: return wrapped_value(smt_call("-", a.exact_term(), b.exact_term()), u, lane);
    case Op::MUL: return wrapped_value(smt_call("*", a.exact_term(), b.exact_term()), u, lane);
    case Op::NEG: return wrapped_value(smt_call("-", a.exact_term()), u, lane);
    case Op::MULACC:
      return wrapped_value(
          "(+ (* " + a.exact_term() + " " + b.exact_term() + ") " + source_value(u, 2, lane).exact_term() + ")", u,
          lane);
    case Op::MAX: return made(smt_if(smt_call("<", a.term, b.term), b.term, a.term));
    case Op::TRUNC: return a;
    case Op::IDIV:
    case Op::MOD: {
      bool may_be_zero = !b.interval.lower_bound || !b.interval.upper_bound ||
                         (*b.interval.lower_bound <= 0 && *b.interval.upper_bound >= 0);
      bool natural = is_natural(a.interval) && b.interval.lower_bound && *b.interval.lower_bound > 0;
      // SMT-LIB's div makes remainders that are not negative, but the ops truncate toward zero
      auto magnitude = [&](const SmtValue& v) {
        return is_natural(v.interval)
                   ? v.term
                   : define_term(dtypes::index, smt_if("(< " + v.term + " 0)", "(- " + v.term + ")", v.term));
      };
      const bool any_sign = !b.interval.lower_bound ||
                            (*b.interval.lower_bound < 0 && !(b.interval.upper_bound && *b.interval.upper_bound < 0));
      std::string q = natural ? smt_call("div", a.term, b.term)
                      : any_sign
                          ? smt_if("(= (< " + a.term + " 0) (< " + b.term + " 0))",
                                   smt_call("div", magnitude(a), magnitude(b)),
                                   "(- (div " + magnitude(a) + " " + magnitude(b) + "))")
                              : smt_if(smt_call(">=", a.term, "0"), smt_call("div", a.term, b.term),
                                       "(- (div (- " + a.term + ") " + b.term + "))");
      if (may_be_zero) q = smt_if(smt_call("=", b.term, "0"), "0", q);
      std::string r = natural ? smt_call("mod", a.term, b.term)
                              : "(- " + a.term + " (* " + define_term(dtypes::index, q) + " " + b.term + "))";
      SmtValue out = u.is(Op::MOD) ? made(r) : wrapped_value(q, u, lane);
      if (may_be_zero) out.definedness = smt_and(out.definedness, smt_call("not", smt_call("=", b.term, "0")));
      if (!natural) assert_interval(out.term, i, d);  // this assertion is redundant, but saves Z3 work
      return out;
    }
    case Op::SHL:
    case Op::SHR: {
      auto by = single_value_of(b.interval);
      if (!by || *by < 0 || *by >= bit_width_of(d)) break;
      std::string power = Int::pow2(uint32_t(by->small_value())).str();
      return u.is(Op::SHL) ? wrapped_value(smt_call("*", a.exact_term(), power), u, lane)
                           : made(smt_call("div", a.term, power));
    }
    case Op::AND: {
      for (bool first : {false, true}) {
        const SmtValue &x = first ? b : a, &mask = first ? a : b;
        auto m = single_value_of(mask.interval);
        if (m && *m >= 0 && (*m & (*m + 1)) == 0) return made(smt_call("mod", x.term, (*m + 1).str()));
      }
      break;
    }
    default: break;
  }
  has_bit_ops_ = true;
  SmtValue out = unknown_value(u, lane);
  if (u.in({Op::SHL, Op::SHR})) {
    std::string w = std::to_string(bit_width_of(d));
    out.definedness = smt_and(out.definedness, "(and (<= 0 " + b.term + ") (< " + b.term + " " + w + "))");
  }
  return out;
}

SmtValue SmtEncoder::bits_op_value(UOp u, int lane) {
  SmtValue a = source_value(u, 0, lane), b = u.num_src() > 1 ? source_value(u, 1, lane) : SmtValue();
  DType d = u.dtype().scalar();
  Interval i = intervals_.interval_of(u, lane);
  if (is_index(d)) check_index_fits(i);  // an index op whose interval fits into the width cannot overflow it
  bool is_s = is_signed(d);
  std::string zero = int_literal(0, d);
  auto made = [&](const std::string& term) { return SmtValue{define_term(d, term), i, definedness(u, lane)}; };
  switch (u.op()) {
    case Op::ADD: return made(smt_call(has_no_carry(u, a, b) ? "bvor" : "bvadd", a.term, b.term));
    case Op::SUB: return made(smt_call("bvsub", a.term, b.term));
    case Op::MUL:
      if (auto by = log2_if_power_of_two(b.interval)) return made(smt_call("bvshl", a.term, int_literal(*by, d)));
      return made(smt_call("bvmul", a.term, b.term));
    case Op::NEG: return made(smt_call("bvneg", a.term));
    case Op::MULACC: return made(smt_call("bvadd", smt_call("bvmul", a.term, b.term), source_value(u, 2, lane).term));
    case Op::MAX: return made(smt_if(smt_call(is_s ? "bvslt" : "bvult", a.term, b.term), b.term, a.term));
    case Op::AND: return made(smt_call("bvand", a.term, b.term));
    case Op::OR: return made(smt_call("bvor", a.term, b.term));
    case Op::XOR: return made(smt_call("bvxor", a.term, b.term));
    case Op::SHL:
    case Op::SHR: {
      // the shift count may have another dtype than the shifted number
      DType of_count = u.src(1).dtype().scalar();
      const int w = bit_width(d), v = bit_width(of_count);
      std::string by = b.term;
      if (v > w) by = "((_ extract " + std::to_string(w - 1) + " 0) " + by + ")";
      if (v < w) by = "((_ zero_extend " + std::to_string(w - v) + ") " + by + ")";
      SmtValue out = made(smt_call(u.is(Op::SHL) ? "bvshl" : is_s ? "bvashr" : "bvlshr", a.term, by));
      const int most = bit_width_of(d);
      if (auto fixed = single_value_of(b.interval); !fixed || *fixed < 0 || *fixed >= most)
        out.definedness = smt_and(out.definedness, smt_call("bvult", b.term, int_literal(most, of_count)));
      return out;
    }
    case Op::IDIV:
    case Op::MOD: {
      bool may_be_zero = !b.interval.lower_bound || !b.interval.upper_bound ||
                         (*b.interval.lower_bound <= 0 && *b.interval.upper_bound >= 0);
      std::string q = smt_call(u.is(Op::IDIV) ? (is_s ? "bvsdiv" : "bvudiv")
                               : is_s         ? "bvsrem"
                                              : "bvurem",
                               a.term, b.term);
      if (may_be_zero) q = smt_if(smt_call("=", b.term, zero), u.is(Op::IDIV) ? zero : a.term, q);
      SmtValue out = made(q);
      if (may_be_zero) out.definedness = smt_and(out.definedness, smt_call("not", smt_call("=", b.term, zero)));
      return out;
    }
    case Op::TRUNC: return a;
    case Op::THREEFRY: return threefry_value(u, lane);
    default: return unknown_value(u, lane);
  }
}

SmtValue SmtEncoder::bool_op_value(UOp u, int lane) {
  SmtValue a = source_value(u, 0, lane), b = u.num_src() > 1 ? source_value(u, 1, lane) : SmtValue();
  auto made = [&](const std::string& term) {
    return SmtValue{define_term(dtypes::bool_, term), {}, definedness(u, lane)};
  };
  switch (u.op()) {
    case Op::ADD:
    case Op::MAX:
    case Op::OR: return made(smt_call("or", a.term, b.term));
    case Op::MUL:
    case Op::AND: return made(smt_call("and", a.term, b.term));
    case Op::SUB:
    case Op::XOR: return made(smt_call("xor", a.term, b.term));
    case Op::TRUNC: return a;
    default: return unknown_value(u, lane);
  }
}

SmtValue SmtEncoder::comparison_value(UOp u, int lane) {
  DType d = u.src(0).dtype().scalar();
  SmtValue a = source_value(u, 0, lane), b = source_value(u, 1, lane);
  auto made = [&](const std::string& term) {
    return SmtValue{define_term(dtypes::bool_, term), {}, definedness(u, lane)};
  };
  if (is_over_reals() && !(is_exact_real(u.src(0)) && is_exact_real(u.src(1)))) return rounded_value(u, lane);
  bool is_less = u.is(Op::CMPLT), is_float = dtypes::is_float(d);
  if (is_float && senses_.float_sense != FloatSense::Real && !(is_ieee() && has_ieee_sort(d))) {
    if (is_narrow_float(d)) {
      a.term = float_cast(d, dtypes::float32, a.term), b.term = float_cast(d, dtypes::float32, b.term);
      d = dtypes::float32;
    }
    if (!is_ieee()) {
      std::string s = smt_sort(d), f = name_of_scalar(d);
      std::string name = std::string(tgc::name_of(u.op())) + "_bool_" + f + "_" + f;
      return made(smt_call(declare_function(name, s + " " + s, "Bool"), a.term, b.term));
    }
  }
  if (dtypes::is_bool(d)) {
    if (is_less) return made("(and (not " + a.term + ") " + b.term + ")");
  } else if (is_float && is_ieee()) {
    std::string equal = smt_call("fp.eq", a.term, b.term);
    return made(is_less ? smt_call("fp.lt", a.term, b.term) : u.is(Op::CMPEQ) ? equal : smt_call("not", equal));
  } else if (is_less) {
    bool is_bits = !is_float && senses_.int_sense == IntSense::Bits;
    return made(smt_call(!is_bits ? "<" : is_signed(d) ? "bvslt" : "bvult", a.term, b.term));
  }
  std::string equal = smt_call("=", a.term, b.term);
  return made(u.is(Op::CMPEQ) ? equal : smt_call("not", equal));
}

SmtValue SmtEncoder::where_value(UOp u, int lane) {
  if (!dtypes::is_bool(u.src(0).dtype())) throw UnencodableExpr{"a WHERE whose condition is no bool"};
  SmtValue c = source_value(u, 0, lane), a = source_value(u, 1, lane), b = source_value(u, 2, lane);
  SmtValue out{define_term(u.dtype().scalar(), smt_if(c.term, a.term, b.term)), intervals_.interval_of(u, lane),
               c.definedness};
  if (!a.unwrapped_term.empty() || !b.unwrapped_term.empty())
    out.unwrapped_term = define_term(dtypes::index, smt_if(c.term, a.exact_term(), b.exact_term()));
  if (!a.definedness.empty() || !b.definedness.empty())
    out.definedness = smt_and(out.definedness, smt_if(c.term, a.definedness.empty() ? "true" : a.definedness,
                                                      b.definedness.empty() ? "true" : b.definedness));
  return out;
}

}  // namespace tgc
