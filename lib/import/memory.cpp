#include <algorithm>
#include <cmath>

#include "lib/import/upgrade.h"
#include "lib/uop/integer_math.h"

namespace tgc::import {

namespace {

Value buffer_value(UOp buffer, Sizes shape, DType dtype) {
  BufferView view{.buffer = buffer, .steps = {{.op = Op::RESHAPE, .sizes = std::move(shape)}}};
  return {.shape = view.shape(), .dtype = dtype, .view = std::move(view)};
}

Sizes shape_of_memory(Importer& im, UOp u) { return u.num_src() ? im.constant_ints(u.src(0)) : Sizes{}; }

Arg known_slot_of(UOp u) {
  Arg slot = slot_of_param(u);
  if (!slot.is_int()) throw Refusal{"it has no slot"};
  return slot;
}

}  // namespace

Value make_param_buffer(Importer& im, UOp u) {
  if (u.dtype().is_ptr()) return make_pointer(im, u);
  const DType dtype = Importer::type_of(u.dtype()).dtype;
  Sizes shape = shape_of_memory(im, u);
  UOp buffer = im.new_graph.node(Op::DEFINE_GLOBAL, dtype.ptr(product(shape)), {}, checked_slot(known_slot_of(u)));
  return buffer_value(buffer, shape, dtype);
}

Value make_pointer(Importer& im, UOp u) {
  const DType dtype = u.dtype();
  if (!dtype.is_ptr() || dtype.is_image()) throw Refusal{"its dtype " + std::string(dtype.repr()) + " is no pointer"};
  const Op op = u.is(Op::PARAM) ? Op::DEFINE_GLOBAL : u.op();
  const DType of = Importer::type_of(dtype.base()).dtype;
  const int64_t count = count_of_dtype(dtype.base());  // the elements of a vector, which get an axis
  const bool is_kept = dtype.base() == of;       // false for a pointer to vectors or to a weak dtype
  const bool is_param = u.arg().kind() == Arg::Kind::Record;
  const bool is_tuple = u.arg().is_tuple() && u.arg().items().size() == 1;  // the number of a register in 0.11
  UOp buffer = im.new_graph.node(op, is_kept ? dtype : of.ptr(checked_mul(dtype.size(), count), dtype.addrspace()), {},
                                 copy_arg(im.new_graph, is_param ? known_slot_of(u) : is_tuple ? u.arg()[0] : u.arg()));
  return buffer_value(buffer, count == 1 ? Sizes{dtype.size()} : Sizes{dtype.size(), count}, of);
}

Value make_local_buffer(Importer& im, UOp u) {
  const DType dtype = Importer::type_of(u.dtype()).dtype;
  const bool is_local = field_of_record(u.arg(), "addrspace") == Arg(AddrSpace::LOCAL);
  Sizes shape = shape_of_memory(im, u);
  UOp buffer = im.new_graph.node(is_local ? Op::DEFINE_LOCAL : Op::DEFINE_REG,
                                 dtype.ptr(product(shape), is_local ? AddrSpace::LOCAL : AddrSpace::REG), {},
                                 known_slot_of(u));
  return buffer_value(buffer, shape, dtype);
}

// Imports STAGE(x, ranges; opts) as a buffer with an axis for each range, followed by the axes of x.
Value make_stage(Importer& im, UOp u) {
  Value x = im.number_value(u.src(0));
  CheckedList<UOp> ranges;
  Sizes shape;
  for (UOp s : sources_from(u, 1)) {
    ranges.push_back(im.scalar(s));
    shape.push_back(im.size(s) + 1);
  }
  Arg opts = copy_arg(im.new_graph, u.arg());
  if (!opts.is(RecordClass::BufferizeOpts)) throw Refusal{"its arg " + opts.repr() + " is unknown"};
  if (x.shape.empty())
    return buffer_value(im.new_graph.node(Op::BUFFERIZE, x.dtype, prepend(im.scalar(u.src(0)), ranges), opts), shape,
                        x.dtype);
  // a BUFFERIZE of 0.12 holds only scalars, so store the elements of x as the stage "add local buffers" does
  const AddrSpace space = opts[1].addrspace();
  if (space == AddrSpace::GLOBAL) throw Refusal{"it is a buffer in global memory"};
  shape.insert(shape.end(), x.shape.begin(), x.shape.end());
  const Op define = space == AddrSpace::LOCAL ? Op::DEFINE_LOCAL : Op::DEFINE_REG;
  constexpr int64_t kUnnumbered = 1 << 20;  // "add local buffers" numbers its own buffers from 0
  const Arg number = opts[0].is_int() ? opts[0] : Arg(kUnnumbered + int64_t(u.id()));
  UOp buffer = im.new_graph.node(define, x.dtype.ptr(product(shape), space), {}, number);
  Value out = buffer_value(buffer, shape, x.dtype);
  std::vector<UOp> stores;
  for (size_t k = 0; k < x.elements.size(); k++) {
    CheckedList<UOp> at = ranges;
    for (int64_t index : unravel(int64_t(k), x.shape)) at.push_back(im.new_graph.constant(ranges[0].dtype(), index));
    stores.push_back(buffer.index_ptr(out.view->index(at)).store(x.elements[k].node));
  }
  UOp end = im.new_graph.group(stores).end(ranges);
  out.view->buffer = buffer.after(end);
  return out;
}

Value make_variable(Importer& im, UOp u) {
  const ElementType type = Importer::type_of(u.dtype());
  Arg name = field_of_record(u.arg(), "name"), bounds = field_of_record(u.arg(), "vmin_vmax");
  if (!name.is_str() || !bounds.is_tuple() || bounds.items().size() != 2) throw Refusal{"it has no name and bounds"};
  auto bound = [](Arg a) {
    if (a.is_const()) return a.to_const();
    const bool is_infinite = a.kind() == Arg::Kind::Raw && (a.text() == "inf" || a.text() == "-inf");
    if (!is_infinite) throw Refusal{"it has no bounds"};
    return Const(a.text() == "inf" ? INFINITY : -INFINITY);
  };
  UOp node = im.new_graph.variable(name.text(), bound(bounds[0]), bound(bounds[1]), type.dtype);
  return {.elements = {{node}}, .shape = {}, .dtype = type.dtype, .is_weak = type.is_weak};
}

Value make_core_number(Importer& im, UOp u) {
  const ElementType type = Importer::type_of(u.dtype());
  Arg bounds = field_of_record(u.arg(), "vmin_vmax");
  if (!bounds.is_tuple() || bounds.items().size() != 2 || !bounds[1].is_int()) throw Refusal{"it has no bounds"};
  UOp end = im.new_graph.constant(type.dtype, Int(checked_integer(bounds[1])) + Int(int64_t(1)));
  return {.elements = {{im.new_graph.special(end, "gidx0", type.dtype)}},
          .shape = {},
          .dtype = type.dtype,
          .is_weak = type.is_weak};
}

Value make_named_variable(Importer& im, UOp u) {
  const ElementType type = Importer::type_of(u.dtype());
  UOp node = im.new_graph.node(Op::DEFINE_VAR, type.dtype, {}, copy_arg(im.new_graph, u.arg()));
  return {.elements = {{node}}, .shape = {}, .dtype = type.dtype, .is_weak = type.is_weak};
}

namespace {

// Returns an element that is `a` if `index` is `k`, else `b`. Throws Refusal for elements of different buffers or
// dtypes.
ValueElement select_element(Importer& im, UOp index, int64_t k, const ValueElement& a, const ValueElement& b) {
  if (!(a.buffer == b.buffer) || !(a.node.dtype() == b.node.dtype()))
    throw Refusal{"it chooses from elements of several buffers"};
  const UOp is_other = index.alu(Op::CMPNE, im.new_graph.constant(index.dtype(), k));
  auto chosen = [&](UOp x, UOp y) { return x == y ? x : is_other.where(y, x); };
  ValueElement out{.node = chosen(a.node, b.node), .buffer = a.buffer};
  const UOp always = im.new_graph.constant(dtypes::bool_, true);
  if (a.valid || b.valid) out.valid = chosen(a.valid ? a.valid : always, b.valid ? b.valid : always);
  return out;
}

// Chooses one element of `from`: `at` has the indices for the first axes, `rest` is the row-major position within the
// other axes. An index that is not constant is compared with each position of its axis but the last.
class ElementChooser {
 public:
  ElementChooser(Importer& im, const Value& from, const CheckedList<ValueElement>& at, int64_t rest)
      : importer_(im), source_(from), indices_(at), rest_position_(rest) {}

  ValueElement at(size_t axis = 0, int64_t position = 0) {
    constexpr int kMaxComparisons = 256;
    if (axis == indices_.size()) return source_.elements[size_t(position + rest_position_)];
    const ValueElement& index = indices_[axis];
    int64_t stride = 1;
    for (size_t k = axis + 1; k < source_.shape.size(); k++) stride = checked_mul(stride, source_.shape[k]);
    const int64_t size = source_.shape[axis];
    ValueElement out;
    if (py_equal(index.node.vmin(), index.node.vmax())) {
      const int64_t place = int_vmin(index.node).int64_or_throw("an index");
      if (place < 0 || place >= size) throw Refusal{"its index into a vector is too large"};
      out = at(axis + 1, position + place * stride);
    } else {
      if ((comparisons_ += size) > kMaxComparisons || size < 1)
        throw Refusal{"its index into a vector is not constant"};
      out = at(axis + 1, position + (size - 1) * stride);
      for (int64_t k = size - 1; k-- > 0;)
        out = select_element(importer_, index.node, k, at(axis + 1, position + k * stride), out);
    }
    out.valid = logical_and(out.valid, index.valid);
    return out;
  }

 private:
  Importer& importer_;
  const Value& source_;
  const CheckedList<ValueElement>& indices_;
  const int64_t rest_position_;
  int64_t comparisons_ = 0;
};

Value index_elements(Importer& im, UOp u, const CheckedList<Value>& indices, const Sizes& indexed) {
  const Value& from = im[u.src(0)];
  Sizes rest = from.shape;
  rest.drop_first_items(indices.size());
  Value out{.shape = indexed, .dtype = from.dtype, .is_weak = from.is_weak};
  out.shape.insert(out.shape.end(), rest.begin(), rest.end());
  num_elements_in(out.shape);
  for (int64_t i = 0; i < product(indexed); i++) {
    CheckedList<ValueElement> at;
    size_t position = 0;
    const Sizes place = unravel(i, indexed);
    for (const Value& index : indices) {
      const Sizes part = place.subrange(position, index.shape.size());
      position += index.shape.size();
      at.push_back(index.elements[size_t(ravel(part, index.shape))]);
    }
    for (int64_t k = 0; k < product(rest); k++) out.elements.push_back(ElementChooser(im, from, at, k).at());
  }
  return out;
}

// Returns the condition that `index` is within the axis; the empty UOp if it always is. tinygrad leaves out such
// conditions for images, outside of which devices read 0.
UOp bounds_condition(Importer& im, UOp index, int64_t size) {
  UOp valid;
  auto number = [&](int64_t v) { return im.new_graph.constant(index.dtype(), v); };
  if (py_less(index.vmin(), 0)) valid = negate_node(index.alu(Op::CMPLT, number(0)));
  if (!py_less(index.vmax(), size)) valid = logical_and(valid, index.alu(Op::CMPLT, number(size)));
  return valid;
}

bool is_image(const BufferView& view) {
  const Sizes& shape = view.shape();
  return view.buffer.is(Op::DEFINE_GLOBAL) && view.steps.size() == 1 && shape.size() == 3 && shape[2] == 4;
}

}  // namespace

// Imports INDEX(x, i, j, ..., gate): the elements at the indices i, j, ... of the first axes of x.
Value make_index(Importer& im, UOp u) {
  const Value& from = im[u.src(0)];
  CheckedList<Value> indices;
  Sizes indexed;
  UOp gate;
  for (size_t i = 1; i < u.num_src(); i++) {
    if (i > 1 && i + 1 == u.num_src() && u.src(i).dtype() == dtypes::bool_ && !im[u.src(i)].is_invalid()) {
      gate = im.scalar(u.src(i));
      continue;
    }
    const Value& at = im[u.src(i)];
    indices.push_back(
        im.number_value(u.src(i), at.is_invalid() || at.dtype == dtypes::bool_ ? dtypes::index : at.dtype));
    indexed.insert(indexed.end(), indices.back().shape.begin(), indices.back().shape.end());
  }
  const Sizes& shape = from.view ? from.view->shape() : from.shape;
  if (indices.size() > shape.size()) throw Refusal{"it has more indices than its source has axes"};
  if (!from.view) return index_elements(im, u, indices, indexed);
  Sizes rest = shape;
  rest.drop_first_items(indices.size());
  DType dtype = dtypes::index;
  for (size_t i = indices.size(); i-- > 0;) dtype = indices[i].dtype;
  for (Value& v : indices)
    for (ValueElement& e : v.elements) e.node = im.convert_node(e.node, dtype, v.is_weak);
  Value out{.shape = indexed, .dtype = from.dtype};
  out.shape.insert(out.shape.end(), rest.begin(), rest.end());
  for (int64_t i = 0, count = num_elements_in(out.shape); i < count; i++) {
    const Sizes place = unravel(i, out.shape);
    CheckedList<UOp> at;
    UOp valid = gate;
    size_t position = 0;
    for (const Value& index : indices) {
      const Sizes part = place.subrange(position, index.shape.size());
      position += index.shape.size();
      const ValueElement& e = index.elements[size_t(ravel(part, index.shape))];
      if (is_image(*from.view)) valid = logical_and(valid, bounds_condition(im, e.node, shape[at.size()]));
      at.push_back(e.node), valid = logical_and(valid, e.valid);
    }
    for (; position < place.size(); position++) at.push_back(im.new_graph.constant(dtype, place[position]));
    out.elements.push_back({from.view->index(at), valid, from.view->buffer});
  }
  return out;
}

namespace {

// True for an access to a word of 32 bits in which WGSL packs several numbers of 8 or 16 bits.
bool is_packed(UOp buffer, DType number) {
  const DType memory = buffer.dtype().base();
  return number == dtypes::uint32 && (memory.itemsize() == 1 || memory.itemsize() == 2) && memory != dtypes::float16 &&
         buffer.dtype().addrspace() != AddrSpace::REG;
}

}  // namespace

bool spans_elements(UOp buffer, DType number) {
  const DType memory = buffer.dtype().base();
  return dtypes::is_int(memory) && !dtypes::is_bool(memory) && !is_packed(buffer, number) && number.itemsize() &&
         memory.count() == 1 && number.itemsize() > memory.itemsize() && number.itemsize() % memory.itemsize() == 0;
}

namespace {

DType bits_dtype(DType number) {
  return number.itemsize() == 8 ? dtypes::uint64 : number.itemsize() == 4 ? dtypes::uint32 : dtypes::uint16;
}

ValueElement element_at_offset(Importer& im, const ValueElement& first, int64_t k) {
  return {k ? first.node.alu(Op::ADD, im.new_graph.constant(first.node.dtype(), k)) : first.node, first.valid,
          first.buffer};
}

// Joins all elements that a wider dtype spans, little-endian.
UOp load_span(Importer& im, const ValueElement& first, DType dtype) {
  const DType memory = first.buffer.dtype().base(), bits = bits_dtype(dtype);
  const int64_t width = memory.itemsize() * 8;
  UOp out;
  for (int64_t k = 0; k < dtype.itemsize() / memory.itemsize(); k++) {
    UOp part = im.pointer(element_at_offset(im, first, k)).load({}, memory).cast(bits);
    part = part.alu(Op::AND, im.new_graph.constant(bits, (int64_t(1) << width) - 1));
    if (k) part = part.alu(Op::SHL, im.new_graph.constant(bits, k * width));
    out = out ? out.alu(Op::OR, part) : part;
  }
  return bits == dtype ? out : out.bitcast(dtype);
}

void store_span(Importer& im, const ValueElement& first, UOp value, std::vector<UOp>& stores) {
  const DType memory = first.buffer.dtype().base(), bits = bits_dtype(value.dtype());
  if (!(value.dtype() == bits)) value = value.bitcast(bits);
  for (int64_t k = 0; k < bits.itemsize() / memory.itemsize(); k++) {
    UOp part = k ? value.alu(Op::SHR, im.new_graph.constant(bits, k * memory.itemsize() * 8)) : value;
    stores.push_back(im.pointer(element_at_offset(im, first, k)).store(part.cast(memory)));
  }
}

// One of the numbers that WGSL packs into a word.
struct PackedNumber {
  ValueElement place;
  UOp shift, mask;
};
std::vector<PackedNumber> packed_numbers(Importer& im, const ValueElement& word) {
  const int64_t bits = word.buffer.dtype().base().itemsize() * 8;
  const DType index = word.node.dtype();
  std::vector<PackedNumber> out;
  for (int64_t k = 0; k < 32 / bits; k++) {
    UOp at =
        word.node.alu(Op::MUL, im.new_graph.constant(index, 32 / bits)).alu(Op::ADD, im.new_graph.constant(index, k));
    UOp valid = word.valid;  // the last word may reach beyond the buffer: also compare with its size
    const int64_t size = word.buffer.dtype().size();
    if (!py_less(at.vmax(), size)) valid = logical_and(valid, at.alu(Op::CMPLT, im.new_graph.constant(index, size)));
    out.push_back({{at, valid, word.buffer},
                   im.new_graph.constant(dtypes::uint32, k * bits),
                   im.new_graph.constant(dtypes::uint32, (int64_t(1) << bits) - 1)});
  }
  return out;
}

UOp load_word(Importer& im, const ValueElement& word) {
  UOp out;
  for (const PackedNumber& part : packed_numbers(im, word)) {
    const DType dtype = word.buffer.dtype().base();
    UOp number = im.pointer(part.place).load({}, dtype);
    if (dtypes::is_float(dtype)) number = number.bitcast(dtype.itemsize() == 1 ? dtypes::uint8 : dtypes::uint16);
    UOp bits = number.cast(dtypes::uint32).alu(Op::AND, part.mask).alu(Op::SHL, part.shift);
    out = out ? out.alu(Op::OR, bits) : bits;
  }
  return out;
}

bool reads_buffer(UOp number, UOp buffer) {
  auto is_buffer = [&](UOp n) { return n == buffer; };
  return std::ranges::any_of(toposort(number), is_buffer);
}

// Replaces STORE(word, (word & kept) | bits) by STOREs of the numbers whose bits are not in `kept`: other threads may
// change the kept numbers at the same time.
void store_word(Importer& im, const ValueElement& word, UOp value, std::vector<UOp>& stores) {
  UOp kept = im.new_graph.constant(dtypes::uint32, 0), bits = value;
  if (value.is(Op::OR) && value.src(0).is(Op::AND) && reads_buffer(value.src(0).src(0), word.buffer))
    kept = value.src(0).src(1), bits = value.src(1);
  const DType dtype = word.buffer.dtype().base();
  for (PackedNumber& part : packed_numbers(im, word)) {
    UOp is_kept = kept.alu(Op::SHR, part.shift).alu(Op::AND, part.mask);
    is_kept = is_kept.alu(Op::CMPNE, im.new_graph.constant(dtypes::uint32, 0));
    part.place.valid = logical_and(part.place.valid, negate_node(is_kept));
    UOp number = bits.alu(Op::SHR, part.shift).alu(Op::AND, part.mask);
    const DType small = dtype.itemsize() == 1 ? dtypes::uint8 : dtypes::uint16;
    if (dtypes::is_float(dtype)) number = number.cast(small).bitcast(dtype);
    stores.push_back(im.pointer(part.place).store(number.cast(dtype)));
  }
}

}  // namespace

namespace {
// Returns true if `source` only orders `u`, a LOAD or STORE: in 0.11, if it is a range or a node without a value.
// Outside of a linear list, returns false for the ranges of a STORE, which the imported STORE keeps, and throws Refusal
// for a node without a value, because the order would be lost.
bool is_ordering_source(Importer& im, UOp u, UOp source) {
  if (u.graph().release() != Release::v0_11 || !(source.dtype() == dtypes::void_ || source.is(Op::RANGE))) return false;
  if (!im.is_list && source.dtype() == dtypes::void_) throw Refusal{"it is ordered by its sources"};
  return im.is_list || u.is(Op::LOAD);
}
}  // namespace

Value make_load(Importer& im, UOp u) {
  const Value& from = im[u.src(0)];
  const DType dtype = u.dtype().is_value() ? Importer::type_of(u.dtype()).dtype : from.dtype;
  Value out{.elements = im.elements_of_source(u.src(0)),
            .shape = from.view ? from.view->shape() : from.shape,
            .dtype = dtype};
  CheckedList<ValueElement> otherwise, gates;
  const bool has_otherwise = u.num_src() > 1 && !is_ordering_source(im, u, u.src(1));
  if (has_otherwise) otherwise = broadcast_to(im.number_value(u.src(1), dtype), out.shape);
  if (has_otherwise && u.num_src() > 2 && !is_ordering_source(im, u, u.src(2)))
    gates = broadcast_to(im.number_value(u.src(2), dtypes::bool_), out.shape);
  for (size_t i = 0; i < out.elements.size(); i++) {
    ValueElement& e = out.elements[i];
    if (!e.buffer) throw Refusal{"its source is no place in memory"};
    if (!gates.empty()) e.valid = logical_and(e.valid, gates[i].node);
    if (is_false(e.valid)) {
      e = {otherwise.empty() ? im.literal(dtype, Const(0)) : otherwise[i].node};
      continue;
    }
    if (is_packed(e.buffer, dtype)) {
      UOp word = load_word(im, e);
      e = {otherwise.empty() || !e.valid ? word : e.valid.where(word, otherwise[i].node)};
      continue;
    }
    if (spans_elements(e.buffer, dtype)) {
      UOp number = load_span(im, e, dtype);
      e = {otherwise.empty() || !e.valid ? number : e.valid.where(number, otherwise[i].node)};
      continue;
    }
    const DType stored = e.buffer.dtype().base();
    UOp at = im.pointer(e);
    e = {(otherwise.empty() ? at.load({}, stored) : at.load(otherwise[i].node.cast(stored), stored)).cast(dtype)};
  }
  return out;
}

// STORE(place, value, gate), or STORE(place, value, ranges) of 0.11
Value make_store(Importer& im, UOp u) {
  const Value& to = im[u.src(0)];
  CheckedList<ValueElement> places = im.elements_of_source(u.src(0));
  const Sizes& shape = to.view ? to.view->shape() : to.shape;
  const Value& stored = im[u.src(1)];
  auto is_word = [&](const ValueElement& e) {
    return e.buffer && (is_packed(e.buffer, stored.dtype) || spans_elements(e.buffer, stored.dtype));
  };
  const bool is_packed_word = !stored.is_weak && std::ranges::any_of(places, is_word);
  Value value = im.number_value(u.src(1), is_packed_word ? stored.dtype : to.dtype);
  if (product(value.shape) == product(shape)) value.shape = shape;
  CheckedList<ValueElement> values = broadcast_to(value, shape), gates;
  std::vector<UOp> ranges, stores;
  if (u.num_src() > 2 && u.src(2).dtype() == dtypes::bool_) gates = broadcast_to(im.number_value(u.src(2)), shape);
  else
    for (UOp s : sources_from(u, 2))
      if (!is_ordering_source(im, u, s)) ranges.push_back(im.scalar(s));
  for (size_t i = 0; i < places.size(); i++) {
    ValueElement& e = places[i];
    if (!e.buffer) throw Refusal{"its target is no place in memory"};
    e.valid = logical_and(e.valid, values[i].valid);
    if (!gates.empty()) e.valid = logical_and(e.valid, gates[i].node);
    if (is_packed_word && spans_elements(e.buffer, stored.dtype)) store_span(im, e, values[i].node, stores);
    else if (is_packed_word) store_word(im, e, values[i].node, stores);
    else if (!is_false(e.valid)) stores.push_back(im.pointer(e).store(values[i].node, ranges));
  }
  if (stores.empty()) return Importer::node(im.new_graph.noop());
  return Importer::node(im.new_graph.group(stores));
}

}  // namespace tgc::import
