#include "lib/import/upgrade.h"
#include "lib/text/repr.h"
#include "lib/uop/integer_math.h"

namespace tgc::import {

namespace {

// A pointer to vectors becomes one place for each element of a vector. A pointer to a wider dtype stays one place, and
// its LOADs and STOREs access all elements that the wider dtype spans.
Value cast_pointer(Importer& im, UOp u) {
  const Value& from = im[u.src(0)];
  const int64_t count = count_of_dtype(u.dtype().base());
  if (from.view || from.elements.size() != 1 || !from.elements[0].buffer)
    throw Refusal{"it casts a pointer that is no place in memory"};
  const DType to = Importer::type_of(u.dtype().base()).dtype;
  if (!(to == from.dtype)) {
    if (count != 1 || !spans_elements(from.elements[0].buffer, to))
      throw Refusal{"it casts a pointer to a dtype that is not wider"};
    return {.elements = from.elements, .shape = {}, .dtype = to};
  }
  Value out{.shape = count == 1 ? Sizes{} : Sizes{count}, .dtype = from.dtype};
  const ValueElement& first = from.elements[0];
  for (int64_t k = 0; k < count; k++)
    out.elements.push_back({k ? first.node.alu(Op::ADD, im.new_graph.constant(first.node.dtype(), k)) : first.node,
                            first.valid, first.buffer});
  return out;
}

}  // namespace

Value make_const(Importer& im, UOp u) {
  if (u.arg().is_invalid())
    return {.elements = {{im.literal(dtypes::bool_, Const(false)), im.literal(dtypes::bool_, Const(false))}},
            .shape = {}, .dtype = dtypes::bool_, .is_weak = true};
  const ElementType type = Importer::type_of(u.dtype().scalar());
  // rounded later, to the dtype of the operation that uses the constant
  const bool keeps_digits = type.is_weak && u.arg().is_const();
  UOp node = keeps_digits ? im.new_graph.constant(type.dtype, u.arg().to_const()) : im.literal(type.dtype, u.arg());
  Value out{.elements = {{node}}, .shape = {}, .dtype = type.dtype, .is_weak = type.is_weak};
  if (const int64_t count = count_of_dtype(u.dtype()); count != 1)
    out = {CheckedList<ValueElement>(size_t(count), out.elements[0]), {count}, type.dtype, type.is_weak};
  return out;
}

Value make_vector_const(Importer& im, UOp u) {
  const ElementType type = Importer::type_of(u.dtype());
  if (!u.arg().is_tuple()) throw Refusal{"its arg " + u.arg().repr() + " is no tuple"};
  Value out{.shape = {int64_t(u.arg().items().size())}, .dtype = type.dtype, .is_weak = type.is_weak};
  for (Arg a : u.arg().items()) out.elements.push_back({im.literal(type.dtype, a)});
  return out;
}

Value make_cast(Importer& im, UOp u) {
  if (u.dtype().is_ptr()) return cast_pointer(im, u);
  const ElementType type = Importer::type_of(u.dtype());
  Value out = im.number_value(u.src(0), type.dtype);
  out.is_weak = type.is_weak;
  return out;
}

// If the dtypes differ in size, the length of the last axis changes.
Value make_bitcast(Importer& im, UOp u) {
  const ElementType type = Importer::type_of(u.dtype());
  if (im[u.src(0)].view) throw Refusal{"it is a bitcast of a buffer"};
  if (im[u.src(0)].is_invalid()) return im[u.src(0)];
  Value from = im.number_value(u.src(0));
  const int64_t in = from.dtype.itemsize(), out_size = type.dtype.itemsize();
  if (!in || !out_size || from.is_weak || type.is_weak) throw Refusal{"it is a bitcast of a dtype without a size"};
  Value out{.shape = from.shape, .dtype = type.dtype};
  if (in == out_size) {
    for (const ValueElement& e : from.elements) out.elements.push_back({e.node.bitcast(type.dtype), e.valid});
    return out;
  }
  if (from.shape.empty() || checked_mul(from.shape.back(), in) % out_size)
    throw Refusal{"it is a bitcast to a dtype of another size"};
  out.shape.back() = from.shape.back() * in / out_size;
  const size_t joined = out_size > in ? size_t(out_size / in) : 1, parts = in > out_size ? size_t(in / out_size) : 1;
  for (size_t i = 0; i < from.elements.size(); i += joined) {
    std::vector<UOp> group;
    for (size_t k = 0; k < joined; k++) group.push_back(from.elements[i + k].node);
    UOp bits = joined == 1 ? group[0] : im.new_graph.node(Op::VECTORIZE, from.dtype.vec(int64_t(joined)), group);
    bits = bits.bitcast(parts == 1 ? type.dtype : type.dtype.vec(int64_t(parts)));
    for (size_t k = 0; k < parts; k++)
      out.elements.push_back({parts == 1 ? bits : bits.gep(int64_t(k)), from.elements[i].valid});
  }
  return out;
}

namespace {

bool is_positive(UOp u) { return py_less(0, u.vmin()); }
bool is_nonnegative(UOp u) { return py_less_equal(0, u.vmin()); }
// Returns true if a / b rounded down and a / b rounded to 0 are known to be equal.
bool have_one_sign(UOp a, UOp b) {
  return (is_nonnegative(a) && is_positive(b)) || (py_less_equal(a.vmax(), 0) && py_less(b.vmax(), 0));
}

// Returns the remainder of a division that rounds to 0. Avoids MOD where tinygrad 0.12 would make it an AND, which is
// wrong for negative numbers.
UOp truncated_remainder(UOp x, UOp y) {
  if (log2_exact(y) <= 0 || is_nonnegative(x)) return x.alu(Op::MOD, y);
  UOp quotient = x.alu(Op::IDIV, y);
  return x.alu(Op::ADD, quotient.alu(Op::MUL, x.graph().constant(x.dtype(), -y.arg().as_int())));
}

// Rounds down: corrects IDIV and MOD, which round to 0.
UOp floor_division(Importer& im, UOp a, UOp b, bool remainder) {
  const DType dtype = a.dtype();
  const Op op = remainder ? Op::MOD : Op::IDIV;
  if (dtypes::is_unsigned(dtype) || have_one_sign(a, b)) return a.alu(op, b);
  auto number = [&](Int v) { return im.literal(dtype, Const(v)); };
  if (dtype == dtypes::index && b.is_const() && is_positive(b) && int_vmin(a).is_small()) {
    const Int least = int_vmin(a);
    // an index cannot overflow, so add a multiple of b to `a` that makes the sum non-negative
    const Int by = int_vmin(b), times = -floor_div(least, by);
    UOp result = a.alu(Op::ADD, number(times * by)).alu(op, b);
    return remainder ? result : result.alu(Op::ADD, number(-times));
  }
  if (int shift = log2_exact(b); shift > 0 && !(dtype == dtypes::index))  // SHR and AND round down
    return remainder ? a.alu(Op::AND, number(b.arg().as_int() - Int(int64_t(1))))
                     : a.alu(Op::SHR, number(Int(int64_t(shift))));
  UOp zero = number(Int(int64_t(0))), left = a.alu(Op::MOD, b);
  UOp unlike = a.alu(Op::CMPLT, zero).alu(Op::CMPNE, b.alu(Op::CMPLT, zero));
  UOp rounded_up = left.alu(Op::CMPNE, zero).alu(Op::AND, unlike);
  if (remainder) return left.alu(Op::ADD, rounded_up.where(b, zero));
  return a.alu(Op::IDIV, b).alu(Op::ADD, rounded_up.where(number(Int(int64_t(-1))), zero));
}

UOp alu_node(Importer& im, UOp u, DType dtype, const CheckedList<UOp>& x) {
  switch (u.op()) {
    case Op::FLOORDIV: return floor_division(im, x[0], x[1], false);
    case Op::FLOORMOD: return floor_division(im, x[0], x[1], true);
    case Op::CDIV: return x[0].alu(Op::IDIV, x[1]);
    case Op::CMOD: return truncated_remainder(x[0], x[1]);
    case Op::RECIP: return x[0].alu(Op::RECIPROCAL);
    case Op::POW:  // if the exponent is no constant, tinygrad 0.14 computes a power of ints in float32
      if (dtypes::is_float(dtype)) return x[0].alu(Op::POW, x[1]);
      return x[0].cast(dtypes::float32).alu(Op::POW, x[1].cast(dtypes::float32)).cast(dtype);
    default: return im.new_graph.node(u.op(), dtype, std::span<const UOp>(x));
  }
}

// Returns the condition under which WHERE(cond, yes, no) is valid; the empty UOp if it always is.
UOp where_valid_condition(const ValueElement& cond, const ValueElement& yes, const ValueElement& no) {
  if (!yes.valid && !no.valid) return cond.valid;
  // keep `valid` beside a condition that is constantly false, because the other side of a rewrite may have `valid`
  auto both = [](UOp c, UOp valid) {
    return valid && is_false(c) && !is_false(valid) ? c.alu(Op::AND, valid) : logical_and(c, valid);
  };
  UOp if_yes = both(cond.node, yes.valid), if_no = both(negate_node(cond.node), no.valid);
  UOp valid = is_false(yes.valid) ? if_no : is_false(no.valid) ? if_yes : if_yes.alu(Op::OR, if_no);
  return logical_and(cond.valid, valid);
}

}  // namespace

// An element is valid if all elements from which it is computed are; a WHERE needs only its condition and the chosen
// one.
Value import_elementwise(Importer& im, UOp u, ElementType type) {
  const bool compares = u.in(ops::Comparison);
  Value out{.dtype = compares ? dtypes::bool_ : type.dtype, .is_weak = type.is_weak && !compares};
  CheckedList<Value> from;
  for (size_t i = 0; i < u.num_src(); i++) {
    from.push_back(im.number_value(u.src(i), u.is(Op::WHERE) && i == 0 ? dtypes::bool_ : type.dtype));
    out.shape = broadcast_shape(out.shape, from[i].shape);
  }
  CheckedList<CheckedList<ValueElement>> operands;
  for (const Value& v : from) operands.push_back(broadcast_to(v, out.shape));
  for (size_t k = 0; k < operands[0].size(); k++) {
    CheckedList<UOp> x;
    UOp valid;
    for (auto& operand : operands) x.push_back(operand[k].node), valid = logical_and(valid, operand[k].valid);
    if (u.is(Op::WHERE)) {
      const ValueElement &cond = operands[0][k], &yes = operands[1][k], &no = operands[2][k];
      valid = where_valid_condition(cond, yes, no);
      if (is_false(no.valid) || is_false(yes.valid)) {
        out.elements.push_back({is_false(no.valid) ? yes.node : no.node, valid});
        continue;
      }
    }
    out.elements.push_back({alu_node(im, u, out.dtype, x), valid});
  }
  return out;
}

Value make_alu(Importer& im, UOp u) {
  std::span<const UOp> sources = u.src();
  if (u.in(ops::Comparison)) return import_elementwise(im, u, im.joined_type(sources));
  const ElementType own = Importer::type_of(u.dtype());
  if (!own.is_weak) return import_elementwise(im, u, own);
  // a weak node takes the dtype of a source that is not weak; so does a shift, whose dtype is that of its first source
  const ElementType of_sources = im.joined_type(u.is(Op::WHERE) ? sources_from(u, 1) : sources);
  const bool is_strong = !of_sources.is_weak && of_sources.dtype != dtypes::bool_;
  return import_elementwise(im, u, is_strong ? of_sources : own);
}

}  // namespace tgc::import
