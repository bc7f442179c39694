// Imports ASTs of 0.11. The arg of a VIEW is a ShapeTracker, which maps indices of the VIEW's shape to an index into
// its source.
#include <algorithm>
#include <map>

#include "lib/import/upgrade.h"

namespace tgc::import {

namespace {

Sizes sizes_of(Arg tuple) {
  Sizes out;
  if (!tuple.is_tuple()) throw Refusal{"its shape is unknown"};
  for (Arg a : tuple.items()) {
    if (!a.is_int()) throw Refusal{"its shape depends on a variable"};
    out.push_back(a.as_int().int64_or_throw("a size"));
  }
  return out;
}

std::span<const Arg> views_of(UOp view) {
  Arg views = field_of_record(view.arg(), "views", 0);
  if (!views.is_tuple() || views.items().empty()) throw Refusal{"its ShapeTracker has no views"};
  return views.items();
}

Sizes shape_of_view(UOp view) {
  Sizes out = sizes_of(field_of_record(views_of(view).back(), "shape", 0));
  product(out);  // refuses negative sizes
  return out;
}

class ViewImporter {
 public:
  ViewImporter(Importer& im, UOp& at) : importer_(im), current_node_(at) {}

  UOp import_sink(UOp root) {
    std::vector<UOp> stores;
    for (UOp s : root.src()) stores.push_back(import_store(s));
    return record_made(root, importer_.new_graph.sink(stores, kernel_info(importer_, root)));
  }

 private:
  using Indices = CheckedList<UOp>;

  UOp import_store(UOp u) {
    current_node_ = u;
    if (!u.is(Op::STORE) || u.num_src() != 2) throw Refusal{"it is not a store of a value to a buffer"};
    std::vector<UOp> ranges;
    const Indices at = make_axis_indices(shape_of_place(u.src(0)), AxisType::LOOP, ranges);
    const ValueElement place = find_place(u.src(0), at, {});
    UOp out = importer_.pointer(place).store(import_number(u.src(1), at, {}));
    return record_made(u, ranges.empty() ? out : out.end(ranges));
  }

  // Returns an index for each axis: a new range, or 0 if the axis has size 1.
  Indices make_axis_indices(const Sizes& shape, AxisType type, std::vector<UOp>& ranges) {
    Indices out;
    for (int64_t size : shape) {
      out.push_back(constant(0));
      if (size == 1) continue;
      ranges.push_back(importer_.new_graph.node(Op::RANGE, dtypes::index, constant(size),
                                                importer_.new_graph.tuple({num_ranges_++, type})));
      out.back() = ranges.back();
    }
    return out;
  }

  // The value is used only where `valid` is true; empty: everywhere.
  UOp import_number(UOp u, const Indices& at, UOp valid) {
    std::vector<uint32_t> key{u.id(), valid ? valid.id() : UINT32_MAX};
    for (UOp i : at) key.push_back(i.id());
    if (auto known = imported_numbers_.find(key); known != imported_numbers_.end()) return known->second;
    current_node_ = u;
    check_sources(u);
    UOp out = make_number(u, at, valid);
    return imported_numbers_[key] = record_made(u, out);
  }
  UOp make_number(UOp u, const Indices& at, UOp valid) {
    const DType dtype = Importer::type_of(u.dtype()).dtype;
    switch (u.op()) {
      case Op::VIEW: {
        if (!u.num_src()) throw Refusal{"it has no source"};
        const ValueElement source = follow_view(u, at);
        UOp x = import_number(u.src(0), split_index(source.node, shape(u.src(0))), logical_and(valid, source.valid));
        current_node_ = u;
        return value_or_zero(source.valid, x);
      }
      case Op::LOAD: return importer_.index_value(find_place(u.src(0), at, valid));
      case Op::CONST: {
        UOp value = importer_.literal(dtype, u.arg());
        return u.num_src() ? value_or_zero(follow_view(u.src(0), at).valid, value) : value;
      }
      case Op::VALID: {
        UOp is_valid = follow_view(u.src(0), at).valid;
        return is_valid ? is_valid : importer_.literal(dtypes::bool_, Const(true));
      }
      case Op::BIND: return import_number(u.src(0), at, valid);
      case Op::DEFINE_VAR:
        return importer_.new_graph.node(Op::DEFINE_VAR, dtype, {}, copy_arg(importer_.new_graph, u.arg()));
      case Op::CAST: return import_number(u.src(0), at, valid).cast(dtype);
      case Op::BITCAST: return import_number(u.src(0), at, valid).bitcast(dtype);
      case Op::REDUCE_AXIS: return import_reduction(u, at, valid);
      case Op::CONTIGUOUS: return import_number(u.src(0), at, valid);
      default: break;
    }
    if (!u.in(ops::ALU | OpSet{Op::RECIP})) throw Refusal{"no upgrade is known for it in a graph with VIEWs"};
    std::vector<UOp> src;
    for (UOp s : u.src()) src.push_back(import_number(s, at, valid));
    current_node_ = u;
    return importer_.new_graph.node(u.is(Op::RECIP) ? Op::RECIPROCAL : u.op(), dtype, src);
  }

  UOp import_reduction(UOp u, const Indices& at, UOp valid) {
    Arg arg = u.arg();
    if (!arg.is_tuple() || arg.items().size() < 2 || !arg[0].is_op())
      throw Refusal{"its arg " + arg.repr() + " is unknown"};
    Sizes sizes(at.size(), 1);
    const Sizes from = shape(u.src(0));
    if (from.size() != at.size()) throw Refusal{"its shape does not fit its source"};
    for (int64_t axis : sizes_of(arg[1])) {
      if (axis < 0 || size_t(axis) >= from.size()) throw Refusal{"its arg " + arg.repr() + " is unknown"};
      sizes[size_t(axis)] = from[size_t(axis)];
    }
    std::vector<UOp> ranges;
    Indices inside = make_axis_indices(sizes, AxisType::REDUCE, ranges);
    for (size_t axis = 0; axis < at.size(); axis++)
      if (sizes[axis] == 1) inside[axis] = at[axis];
    UOp x = import_number(u.src(0), inside, valid);
    current_node_ = u;
    return ranges.empty() ? x : x.reduce(ranges, arg[0].op());
  }

  ValueElement follow_view(UOp u, Indices at) {
    if (!u.is(Op::VIEW)) throw Refusal{"its source is no VIEW"};
    const std::span<const Arg> views = views_of(u);
    ValueElement out;
    for (size_t v = views.size(); v-- > 0;) {
      const Sizes shape = sizes_of(field_of_record(views[v], "shape", 0));
      const Sizes strides = sizes_of(field_of_record(views[v], "strides", 1));
      Arg offset = field_of_record(views[v], "offset", 2), mask = field_of_record(views[v], "mask", 3);
      if (!offset.is_int()) throw Refusal{"its offset depends on a variable"};
      if (strides.size() != shape.size() || at.size() != shape.size())
        throw Refusal{"its shape does not fit its source"};
      out.node = constant(offset.as_int().int64_or_throw("an offset"));
      for (size_t axis = 0; axis < shape.size(); axis++) {
        if (strides[axis]) out.node = add_nodes(out.node, multiply_node(at[axis], strides[axis]));
        if (mask.is_none()) continue;
        if (!mask.is_tuple() || mask.items().size() != shape.size()) throw Refusal{"its mask is unknown"};
        const Sizes bounds = sizes_of(mask[axis]);
        if (bounds.size() != 2) throw Refusal{"its mask is unknown"};
        if (bounds[0] > 0)
          out.valid = logical_and(out.valid, negate_node(at[axis].alu(Op::CMPLT, constant(bounds[0]))));
        if (bounds[1] < shape[axis]) out.valid = logical_and(out.valid, at[axis].alu(Op::CMPLT, constant(bounds[1])));
      }
      if (v) at = split_index(out.node, sizes_of(field_of_record(views[v - 1], "shape", 0)));
    }
    return out;
  }

  // The place is valid only if `valid` is.
  ValueElement find_place(UOp u, const Indices& at, UOp valid) {
    ValueElement out{.node = at.empty() ? constant(0) : at[0], .valid = valid};
    if (u.is(Op::VIEW) && u.num_src()) {
      out = follow_view(u, at);
      out.valid = logical_and(valid, out.valid), u = u.src(0);
    }
    if (!u.is(Op::DEFINE_GLOBAL)) throw Refusal{"its source is no buffer in global memory"};
    out.buffer = make_pointer(importer_, u).view->buffer;
    return out;
  }

  Sizes shape_of_place(UOp u) { return u.is(Op::VIEW) ? shape_of_view(u) : Sizes{u.dtype().size()}; }
  Sizes shape(UOp u) {
    if (u.is(Op::VIEW)) return shape_of_view(u);
    check_sources(u);
    if (u.is(Op::LOAD)) return shape_of_place(u.src(0));
    if (!u.num_src() || u.is(Op::BIND)) return {};
    Sizes out = shape(u.src(0));
    if (u.is(Op::REDUCE_AXIS))
      for (int64_t axis : sizes_of(u.arg().is_tuple() && u.arg().items().size() > 1 ? u.arg()[1] : Arg()))
        if (axis >= 0 && size_t(axis) < out.size()) out[size_t(axis)] = 1;
    return out;
  }

  UOp constant(int64_t value) { return importer_.new_graph.constant(dtypes::index, value); }
  UOp value_or_zero(UOp valid, UOp x) { return valid ? valid.where(x, importer_.literal(x.dtype(), Const(0))) : x; }
  UOp record_made(UOp original, UOp node) {
    importer_.origins->record_origin(importer_.new_graph, original);
    return node;
  }

  Importer& importer_;
  UOp& current_node_;
  int64_t num_ranges_ = 0;
  std::map<std::vector<uint32_t>, UOp> imported_numbers_;
};

}  // namespace

bool has_views(std::span<const UOp> nodes) {
  return std::ranges::any_of(nodes, [](UOp u) { return u.is(Op::VIEW); });
}

UOp import_views(Importer& im, UOp root, UOp& at) {
  if (!root.is(Op::SINK)) throw Refusal{"the graph is not a kernel's AST"};
  return ViewImporter(im, at).import_sink(root);
}

}  // namespace tgc::import
