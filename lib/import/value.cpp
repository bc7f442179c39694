#include "lib/import/value.h"

#include <algorithm>

namespace tgc::import {

int64_t num_elements_in(const Sizes& shape) {
  const int64_t count = product(shape);
  if (count > kMaxValueElements) throw Refusal{"it has too many elements"};
  return count;
}

Sizes unravel(int64_t position, const Sizes& shape) {
  Sizes at(shape.size());
  for (size_t axis = shape.size(); axis-- > 0; position = floored_quotient(position, shape[axis]))
    at[axis] = floored_remainder(position, shape[axis]);
  return at;
}

int64_t ravel(const Sizes& at, const Sizes& shape) {
  int64_t position = 0;
  for (size_t axis = 0; axis < shape.size(); axis++)
    position = checked_add(checked_mul(position, shape[axis]), at[axis]);
  return position;
}

Sizes broadcast_shape(const Sizes& a, const Sizes& b) {
  Sizes out = a.size() < b.size() ? b : a;
  const Sizes& other = a.size() < b.size() ? a : b;
  for (size_t i = 0; i < other.size(); i++) {
    int64_t& size = out[out.size() - other.size() + i];
    if (size != other[i] && size != 1 && other[i] != 1) throw Failure("its operands have different shapes");
    if (size == 1) size = other[i];
  }
  return out;
}

CheckedList<ValueElement> broadcast_to(const Value& value, const Sizes& shape) {
  if (value.shape == shape) return value.elements;
  if (broadcast_shape(value.shape, shape) != shape) throw Failure("its source has a larger shape");
  CheckedList<ValueElement> out(size_t(num_elements_in(shape)));
  const size_t added = shape.size() - value.shape.size();
  for (size_t i = 0; i < out.size(); i++) {
    Sizes at = unravel(int64_t(i), shape);
    at.drop_first_items(added);
    for (size_t axis = 0; axis < at.size(); axis++)
      if (value.shape[axis] == 1) at[axis] = 0;
    out[i] = value.elements[size_t(ravel(at, value.shape))];
  }
  return out;
}

bool Value::is_invalid() const {
  return !elements.empty() && std::ranges::all_of(elements, [](const ValueElement& e) { return is_false(e.valid); });
}

namespace {
UOp integer_node(Graph& graph, int64_t value, DType dtype) { return graph.constant(dtype, value); }
}  // namespace

UOp add_nodes(UOp x, UOp y) {
  if (x.is_const() && py_equal(x.arg().to_const(), 0)) return y;
  return y.is_const() && py_equal(y.arg().to_const(), 0) ? x : x.alu(Op::ADD, y);
}
UOp multiply_node(UOp x, int64_t factor) {
  return factor == 1 ? x : x.alu(Op::MUL, integer_node(x.graph(), factor, x.dtype()));
}

CheckedList<UOp> split_index(UOp flat, const Sizes& shape) {
  CheckedList<UOp> at(shape.size());
  int64_t stride = 1;
  for (size_t axis = shape.size(); axis-- > 0; stride = checked_mul(stride, shape[axis])) {
    UOp i = stride == 1 ? flat : flat.alu(Op::IDIV, integer_node(flat.graph(), stride, flat.dtype()));
    at[axis] = axis == 0 ? i : i.alu(Op::MOD, integer_node(flat.graph(), shape[axis], flat.dtype()));
  }
  return at;
}

UOp BufferView::index(CheckedList<UOp> at) const {
  Graph& graph = buffer.graph();
  const DType dtype = at.empty() ? dtypes::index : at[0].dtype();
  for (size_t s = steps.size(); s-- > 0;) {
    const ViewStep& step = steps[s];
    const Sizes& from = s ? steps[s - 1].sizes : step.sizes;
    switch (step.op) {
      case Op::RESHAPE: {  // flatten the indices, then split the flat index for the shape of the step before
        UOp flat = at.empty() ? integer_node(graph, 0, dtype) : at[0];
        for (size_t axis = 1; axis < at.size(); axis++)
          flat = add_nodes(multiply_node(flat, step.sizes[axis]), at[axis]);
        if (s == 0) return flat;
        at = split_index(flat, from);
        break;
      }
      case Op::PERMUTE: {
        CheckedList<UOp> moved(at.size());
        for (size_t axis = 0; axis < at.size(); axis++) moved[import::axis(step.ints[axis], at.size())] = at[axis];
        at = std::move(moved);
        break;
      }
      case Op::EXPAND: at.drop_first_items(size_t(step.ints[0])); break;
      case Op::FLIP:
        for (size_t axis = 0; axis < at.size(); axis++)
          if (step.ints[axis])
            at[axis] = integer_node(graph, from[axis] - 1, dtype).alu(Op::ADD, multiply_node(at[axis], -1));
        break;
      default:  // SHRINK
        for (size_t axis = 0; axis < at.size(); axis++) at[axis] = add_nodes(step.offset[axis].cast(dtype), at[axis]);
    }
  }
  return at[0];
}

UOp logical_and(UOp a, UOp b) {
  if (!a || a == b || (b && is_false(b))) return b;
  return !b || is_false(a) ? a : a.alu(Op::AND, b);
}

UOp negate_node(UOp a) {
  Graph& graph = a.graph();
  if (a.is_const()) return graph.constant(dtypes::bool_, !a.arg().to_const().truthy());
  return a.alu(Op::CMPNE, graph.constant(dtypes::bool_, true));
}

bool is_false(UOp condition) { return condition && condition.is_const() && !condition.arg().to_const().truthy(); }

}  // namespace tgc::import
