#include <algorithm>

#include "lib/import/upgrade.h"

namespace tgc::import {

namespace {

constexpr int64_t kMostPlaces = 256;  // a SHRINK to more elements, at a valid offset, stays a BufferView
constexpr size_t kMostSteps = 1000;   // most steps of a BufferView to which an op other than SHRINK is added

Sizes integers(Arg tuple) {
  Sizes out;
  if (!tuple.is_tuple()) throw Refusal{"its arg " + tuple.repr() + " is no tuple"};
  for (Arg a : tuple.items()) out.push_back(a.is_integral() ? a.as_int().int64_or_throw("an arg") : 0);
  return out;
}

template <class Source>
CheckedList<ValueElement> rearrange_elements(const Value& from, const Sizes& to, Source source) {
  CheckedList<ValueElement> out(size_t(num_elements_in(to)));
  for (size_t i = 0; i < out.size(); i++)
    out[i] = from.elements[size_t(ravel(source(unravel(int64_t(i), to)), from.shape))];
  return out;
}

// For a part of a buffer, an offset need not be constant and may be Invalid.
Value shrink(Importer& im, UOp u, Value value) {
  const Value& offset = im[u.src(1)];
  Sizes sizes = im.constant_ints(u.src(2));
  const Sizes& from = value.view ? value.view->shape() : value.shape;
  if (sizes.size() != from.size() || offset.elements.size() != from.size()) throw Refusal{"its shape is unknown"};
  if (!value.view) {
    const Sizes first = im.constant_ints(u.src(1));
    for (size_t axis = 0; axis < from.size(); axis++)
      if (first[axis] + sizes[axis] > from[axis]) throw Refusal{"it is larger than its source"};
    Value out = value;
    out.elements = rearrange_elements(value, sizes, [&](Sizes at) {
      for (size_t axis = 0; axis < at.size(); axis++) at[axis] += first[axis];
      return at;
    });
    out.shape = sizes;
    return out;
  }
  UOp valid;
  BufferView::ViewStep step{.op = Op::SHRINK, .sizes = sizes};
  for (const ValueElement& e : offset.elements)
    step.offset.push_back(e.buffer ? im.index_value(e) : e.node), valid = logical_and(valid, e.valid);
  const DType dtype = step.offset[0].dtype();
  value.view->steps.push_back(std::move(step));
  if (product(sizes) > kMostPlaces && !valid) return value;
  Value out{.shape = sizes, .dtype = value.dtype};
  for (int64_t i = 0, count = num_elements_in(sizes); i < count; i++) {
    CheckedList<UOp> at;
    for (int64_t index : unravel(i, sizes)) at.push_back(im.new_graph.constant(dtype, index));
    out.elements.push_back({value.view->index(at), valid, value.view->buffer});
  }
  return out;
}

}  // namespace

Value make_stack(Importer& im, UOp u) {
  auto is_first = [&](UOp s) { return s == u.src(0); };
  if (u.dtype().is_ptr() && u.num_src() && im[u.src(0)].view && std::ranges::all_of(u.src(), is_first))
    return im[u.src(0)];  // a vector of equal pointers: the buffer has an axis for its elements
  Value out{.shape = {int64_t(u.num_src())}, .dtype = dtypes::void_};
  if (!u.num_src()) return out;
  const ElementType type = im.joined_type(u.src());
  out.dtype = type.dtype, out.is_weak = type.is_weak;
  for (size_t i = 0; i < u.num_src(); i++) {
    const Value& v = im[u.src(i)];
    // then places in memory are not loaded
    const bool keeps = !v.view && v.dtype == type.dtype && (!v.is_weak || type.is_weak);
    Value part = keeps ? v : im.number_value(u.src(i), type.dtype);
    if (i == 0) out.shape.insert(out.shape.end(), part.shape.begin(), part.shape.end());
    if (checked_mul(product(part.shape), int64_t(u.num_src())) != num_elements_in(out.shape))
      throw Refusal{"its sources differ in shape"};
    out.elements.insert(out.elements.end(), part.elements.begin(), part.elements.end());
  }
  if (u.in({Op::CAT, Op::PTRCAT})) out.shape = {int64_t(out.elements.size())};
  return out;
}

Value make_gep(Importer& im, UOp u) {
  const Value from{
      .elements = im.elements_of_source(u.src(0)), .dtype = im[u.src(0)].dtype, .is_weak = im[u.src(0)].is_weak};
  const Sizes chosen = integers(u.arg());
  Value out{.shape = chosen.size() == 1 ? Sizes{} : Sizes{int64_t(chosen.size())}, .dtype = from.dtype,
            .is_weak = from.is_weak};
  for (int64_t i : chosen) {
    if (i < 0 || size_t(i) >= from.elements.size()) throw Refusal{"its index into a vector is too large"};
    out.elements.push_back(from.elements[size_t(i)]);
  }
  return out;
}

Value make_movement(Importer& im, UOp u) {
  Value value = im[u.src(0)];
  if (u.is(Op::SHRINK)) return shrink(im, u, std::move(value));
  const Sizes from = value.view ? value.view->shape() : value.shape;
  Sizes sizes = from, ints;
  switch (u.op()) {
    case Op::RESHAPE: sizes = im.constant_ints(u.src(1)); break;
    case Op::EXPAND:
      sizes = im.constant_ints(u.src(1)), ints = {int64_t(sizes.size())};
      sizes.insert(sizes.end(), from.begin(), from.end());
      break;
    case Op::PERMUTE:
      ints = integers(u.arg());
      for (size_t axis = 0; axis < from.size(); axis++)
        if (ints.size() != from.size() || !std::ranges::count(ints, int64_t(axis)))
          throw Refusal{"its arg does not fit"};
      for (size_t axis = 0; axis < ints.size(); axis++) sizes[axis] = from[import::axis(ints[axis], from.size())];
      break;
    default: ints = integers(u.arg());  // FLIP
  }
  if (u.is(Op::RESHAPE) && product(sizes) != product(from)) throw Refusal{"it changes the number of elements"};
  if (!u.is(Op::RESHAPE) && !u.is(Op::EXPAND) && ints.size() != from.size()) throw Refusal{"its arg does not fit"};
  if (value.view) {
    if (value.view->steps.size() >= kMostSteps) throw Refusal{"it is below too many movement ops"};
    value.view->steps.push_back({.op = u.op(), .sizes = std::move(sizes), .ints = std::move(ints)});
    return value;
  }
  num_elements_in(sizes);
  Value out = value;
  if (!u.is(Op::RESHAPE))
    out.elements = rearrange_elements(value, sizes, [&](const Sizes& at) {
      Sizes source(from.size());
      for (size_t axis = 0; axis < from.size(); axis++)
        if (u.is(Op::EXPAND)) source[axis] = at[axis + size_t(ints[0])];
        else if (u.is(Op::PERMUTE)) source[import::axis(ints[axis], from.size())] = at[axis];
        else source[axis] = ints[axis] ? from[axis] - 1 - at[axis] : at[axis];
      return source;
    });
  out.shape = std::move(sizes);
  return out;
}

namespace {
// Returns true if the elements of `range` are the constants 0 to n - 1 that the expander puts in place of a RANGE, with
// n the size of an axis of `of`.
bool is_expanded_axis(const Value& range, const Value& of) {
  const size_t n = range.elements.size();
  if (n < 2 || range.shape.size() != of.shape.size()) return false;
  for (size_t i = 0; i < n; i++) {
    UOp node = range.elements[i].node;
    if (!node || !node.is_const() || !node.arg().is_int() || !(node.arg().as_int() == Int(int64_t(i)))) return false;
  }
  auto axis = std::ranges::find(range.shape, int64_t(n));
  return axis != range.shape.end() && of.shape[size_t(axis - range.shape.begin())] == int64_t(n);
}

void combine_range_axis(Value& v, const Value& range, Op op) {
  const auto axis = std::ranges::find(range.shape, int64_t(range.elements.size())) - range.shape.begin();
  const int64_t inner = product(Sizes(v.shape.begin() + axis + 1, v.shape.end())), n = v.shape[size_t(axis)];
  CheckedList<ValueElement> out;
  for (int64_t i = 0; i < int64_t(v.elements.size()); i++) {
    const auto to = size_t(i / inner / n * inner + i % inner);
    if (to == out.size()) out.push_back(v.elements[size_t(i)]);
    else out[to].node = out[to].node.alu(op, v.elements[size_t(i)].node);
  }
  v.elements = std::move(out), v.shape[size_t(axis)] = 1;
}
}  // namespace

// Imports REDUCE(x, ranges; op, n): combines the elements along the first n axes, in order, and then over the ranges. A
// range that the expander has replaced by its values is an axis too, whose size becomes 1.
Value make_reduce(Importer& im, UOp u) {
  Arg op = u.arg();
  int64_t axes = 0;
  if (op.is_tuple() && op.items().size() == 2) {
    // tinygrad 0.13 may write a tuple of axes; only () is imported
    const bool has_axes = op[1].is_tuple() && !op[1].items().empty();
    if (has_axes || !(op[1].is_int() || op[1].is_tuple())) throw Refusal{"its arg " + op.repr() + " is unknown"};
    axes = op[1].is_int() ? checked_integer(op[1]) : 0, op = op[0];
  }
  if (!op.is_op()) throw Refusal{"its arg " + u.arg().repr() + " is unknown"};
  ElementType type = Importer::type_of(u.dtype());
  if (type.is_weak && type.dtype == dtypes::index) type = {dtypes::int64};
  Value from = im.number_value(u.src(0), type.dtype);
  for (ValueElement& e : from.elements)
    if (e.valid) e = {e.valid.where(e.node, im.literal(type.dtype, Const(0)))};
  if (axes < 0 || axes > int64_t(from.shape.size())) throw Refusal{"it reduces more axes than its source has"};
  std::vector<UOp> ranges;
  for (UOp s : sources_from(u, 1)) {
    if (axes == 0 && is_expanded_axis(im[s], from)) combine_range_axis(from, im[s], op.op());
    else if (UOp r = im.scalar(s); !r.is_const()) ranges.push_back(r);
  }
  Value out{.shape = {from.shape.begin() + axes, from.shape.end()}, .dtype = type.dtype};
  const int64_t count = count_of_dtype(u.dtype());
  if (u.src(0).dtype().count() > 1 && count < product(out.shape)) {  // reduced to a shorter vector
    const int64_t group = product(out.shape) / count;
    if (group * count != product(out.shape)) throw Refusal{"its vector has no whole number of groups"};
    CheckedList<ValueElement> ordered;
    for (int64_t k = 0; k < group; k++)
      for (int64_t i = 0; i < count; i++) ordered.push_back(from.elements[size_t(i * group + k)]);
    from.elements = std::move(ordered);
    out.shape = count == 1 ? Sizes{} : Sizes{count};
  }
  const size_t each = size_t(product(out.shape));
  for (size_t i = 0; i < each; i++) {
    UOp sum = from.elements.at(i).node;
    for (size_t k = i + each; k < from.elements.size(); k += each) sum = sum.alu(op.op(), from.elements[k].node);
    out.elements.push_back({ranges.empty() ? sum : sum.reduce(ranges, op.op())});
  }
  return out;
}

namespace {
UOp vector_of(Importer& im, std::span<const UOp> group) {
  if (group.empty()) throw Refusal{"a source of it has no elements"};
  if (group.size() == 1) return group[0];
  // the vector to return if `group` is all of its elements in order
  UOp whole = group[0].is(Op::GEP) ? group[0].src(0) : UOp();
  bool is_whole = whole && whole.dtype().count() == int64_t(group.size());
  for (size_t k = 0; k < group.size() && is_whole; k++) is_whole = group[k] == whole.gep(int64_t(k));
  if (is_whole) return whole;
  return im.new_graph.node(Op::VECTORIZE, group[0].dtype().vec(int64_t(group.size())), group);
}

Value elements_of(UOp node) {
  const int64_t count = count_of_dtype(node.dtype());
  Value out{.shape = count == 1 ? Sizes{} : Sizes{count}, .dtype = node.dtype().scalar()};
  for (int64_t k = 0; k < count; k++) out.elements.push_back({count == 1 ? node : node.gep(k)});
  return out;
}

UOp whole_vector(Importer& im, UOp source) {
  std::vector<UOp> group;
  for (const ValueElement& e : im.number_value(source).elements) group.push_back(e.node);
  return vector_of(im, group);
}

CheckedList<UOp> operand_vectors(Importer& im, UOp operand, int64_t count, const Sizes& leading) {
  Value v = im.number_value(operand);
  Sizes shape = leading;
  shape.push_back(count);
  const CheckedList<ValueElement> elements = broadcast_to(v, shape);
  CheckedList<UOp> out;
  if (count < 1) throw Refusal{"an operand has no elements of a thread"};
  for (size_t i = 0; i < elements.size(); i += size_t(count)) {
    std::vector<UOp> group;
    for (size_t k = 0; k < size_t(count); k++) group.push_back(elements[i + k].node);
    out.push_back(vector_of(im, group));
  }
  return out;
}
}  // namespace

// Import ops that 0.12 has in the same form: CONTRACT(x; axes), UNROLL(vector; axes), WMMA(a, b, c; ...).
Value make_contract(Importer& im, UOp u) {
  const DType dtype = Importer::type_of(u.dtype()).dtype;
  if (im[u.src(0)].elements.size() != 1) throw Refusal{"its source is a vector"};
  return elements_of(im.new_graph.node(Op::CONTRACT, dtype.vec(count_of_dtype(u.dtype())), im.scalar(u.src(0), dtype),
                                       copy_arg(im.new_graph, u.arg())));
}
Value make_unroll(Importer& im, UOp u) {
  if (u.dtype().count() != 1) throw Refusal{"it unrolls a vector of vectors"};
  const CheckedList<ValueElement>& elements = im[u.src(0)].elements;
  if (std::ranges::all_of(elements, [](const ValueElement& e) { return e.node.is_const(); }))
    throw Refusal{"it is the index of an axis without a range"};  // 0.11 writes UNROLLs of constants
  const DType dtype = Importer::type_of(u.dtype()).dtype;
  return {
      .elements = {{im.new_graph.node(Op::UNROLL, dtype, whole_vector(im, u.src(0)), copy_arg(im.new_graph, u.arg()))}},
      .shape = {},
      .dtype = dtype};
}
Value make_vector_wmma(Importer& im, UOp u) {
  const DType dtype = Importer::type_of(u.dtype()).dtype;
  std::vector<UOp> src;
  for (UOp s : u.src().first(3)) src.push_back(whole_vector(im, s));
  for (UOp s : sources_from(u, 3)) src.push_back(im.scalar(s));
  return elements_of(
      im.new_graph.node(Op::WMMA, dtype.vec(count_of_dtype(u.dtype())), src, copy_arg(im.new_graph, u.arg())));
}

// Imports WMMA(a, b, c; dims, dtype, device, threads, axes). Before the expander, `axes` names the upcast ranges over
// the elements of a thread; after it, `axes` is None, and the last axis of each operand has these elements.
Value make_wmma(Importer& im, UOp u) {
  Arg arg = u.arg();
  if (!arg.is_tuple() || arg.items().size() != 5 || arg[1].kind() != Arg::Kind::DType || !arg[2].is_str())
    throw Refusal{"its arg " + arg.repr() + " is unknown"};
  const bool is_expanded = arg[4].is_none();
  const DType dtype = Importer::type_of(u.dtype()).dtype;
  int64_t counts[3] = {1, 1, 1};
  Sizes leading;
  std::vector<Arg> axes;
  for (size_t i = 0; i < 3; i++) {
    Sizes shape = im[u.src(i)].view ? im[u.src(i)].view->shape() : im[u.src(i)].shape;
    if (is_expanded || i == 2) {
      if (shape.empty() || !shape.back()) throw Refusal{"an operand has no elements of a thread"};
      counts[i] = shape.back();
      shape.pop_back();
      leading = broadcast_shape(leading, shape);
    }
    if (is_expanded) {
      axes.push_back(im.new_graph.tuple({im.new_graph.tuple({int64_t(i), counts[i]})}));
      continue;
    }
    if (!arg[4].is_tuple() || arg[4].items().size() != 3 || !arg[4][i].is_tuple())
      throw Refusal{"its arg " + arg.repr() + " is unknown"};
    std::vector<Arg> longer;  // an axis of size 1 has no range
    counts[i] = 1;
    for (Arg axis : arg[4][i].items())
      if (integers(axis).size() != 2 || !axis[1].is_int()) throw Refusal{"its arg " + arg.repr() + " is unknown"};
      else if (const int64_t size = checked_integer(axis[1]); size != 1) {
        longer.push_back(copy_arg(im.new_graph, axis));
        counts[i] = product(Sizes{counts[i], size});
      }
    axes.push_back(im.new_graph.tuple(longer));
  }
  for (int64_t count : counts) num_elements_in({count});
  std::string name = "WMMA";
  for (int64_t size : integers(arg[0])) name += "_" + std::to_string(size);
  name.append("_").append(arg[1].dtype().name()).append("_").append(dtype.name());
  Arg made =
      im.new_graph.tuple({im.new_graph.str(name), copy_arg(im.new_graph, arg[0]), arg[1], Arg(dtype),
                          im.new_graph.str(arg[2].text()), arg[3], im.new_graph.tuple(axes), im.new_graph.tuple({})});
  Value out{.shape = leading, .dtype = dtype};
  if (!is_expanded) {
    UOp a = im.new_graph.node(Op::CONTRACT, im[u.src(0)].dtype.vec(counts[0]), im.scalar(u.src(0)), axes[0]);
    UOp b = im.new_graph.node(Op::CONTRACT, im[u.src(1)].dtype.vec(counts[1]), im.scalar(u.src(1)), axes[1]);
    UOp sum = im.new_graph.node(Op::WMMA, dtype.vec(counts[2]),
                                {a, b, operand_vectors(im, u.src(2), counts[2], {}).at(0)}, made);
    out.elements = {{im.new_graph.node(Op::UNROLL, dtype, sum, axes[2])}};
    return out;
  }
  CheckedList<UOp> a = operand_vectors(im, u.src(0), counts[0], leading),
                   b = operand_vectors(im, u.src(1), counts[1], leading),
                   c = operand_vectors(im, u.src(2), counts[2], leading);
  for (size_t i = 0; i < a.size(); i++) {
    UOp sum = im.new_graph.node(Op::WMMA, dtype.vec(counts[2]), {a[i], b[i], c[i]}, made);
    for (int64_t k = 0; k < counts[2]; k++) out.elements.push_back({sum.gep(k)});
  }
  out.shape.push_back(counts[2]);
  return out;
}

}  // namespace tgc::import
