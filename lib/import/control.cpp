#include <algorithm>

#include "lib/import/upgrade.h"

namespace tgc::import {

namespace {

// 0.14 writes WEAK for a loop that no optimization has given another type.
AxisType axis_type(Arg arg) {
  if (arg.kind() == Arg::Kind::AxisType) return arg.axis_type();
  if (arg.kind() == Arg::Kind::Raw && arg.text() == "AxisType.WEAK") return AxisType::LOOP;
  throw Refusal{"its axis type " + arg.repr() + " is unknown"};
}

ElementType integer_type(UOp u) {
  if (u.dtype() == dtypes::void_ || !u.num_src()) throw Refusal{"it is a loop without a bound"};
  return Importer::type_of(u.dtype());
}

// Throws Refusal unless `source` is a buffer or has one value.
UOp buffer_or_scalar(Importer& im, UOp source) {
  const Value& v = im[source];
  if (v.view) return v.view->buffer;
  if (v.elements.size() != 1) throw Refusal{"its source is a vector"};
  return v.elements[0].buffer ? im.pointer(v.elements[0]) : v.elements[0].node;
}

}  // namespace

Value make_range(Importer& im, UOp u) {
  const ElementType type = integer_type(u);
  Arg arg = u.arg();
  if (!arg.is_int() && (!arg.is_tuple() || arg.items().size() < 2))
    throw Refusal{"its arg " + arg.repr() + " is unknown"};
  std::vector<Arg> ids{arg, AxisType::LOOP};  // the arg of a RANGE of 0.11 is only its number
  if (arg.is_tuple()) ids.assign(arg.items().begin(), arg.items().end());
  auto is_type = std::ranges::find_if(ids, [](Arg a) { return !a.is_int(); });
  if (is_type == ids.end()) throw Refusal{"its arg " + arg.repr() + " is unknown"};
  *is_type = axis_type(*is_type);
  std::vector<UOp> src{im.scalar(u.src(0), type.dtype)};
  for (UOp s : sources_from(u, 1)) src.push_back(buffer_or_scalar(im, s));
  UOp node = im.new_graph.node(Op::RANGE, type.dtype, src, im.new_graph.tuple(ids));
  return {.elements = {{node}}, .shape = {}, .dtype = type.dtype, .is_weak = type.is_weak};
}

// The range over the devices becomes a variable, because each device runs the kernel with its own number.
Value make_device_range(Importer& im, UOp u) {
  const ElementType type = integer_type(u);
  UOp node = im.new_graph.variable("_device_num", 0, im.size(u.src(0)) - 1, type.dtype);
  return {.elements = {{node}}, .shape = {}, .dtype = type.dtype, .is_weak = type.is_weak};
}

Value make_special(Importer& im, UOp u) {
  const ElementType type = integer_type(u);
  if (!u.arg().is_str()) throw Refusal{"its arg " + u.arg().repr() + " is unknown"};
  UOp node = im.new_graph.special(im.scalar(u.src(0), type.dtype), u.arg().text(), type.dtype);
  return {.elements = {{node}}, .shape = {}, .dtype = type.dtype, .is_weak = type.is_weak};
}

// A range that was imported as a constant or a variable needs no END.
Value make_end(Importer& im, UOp u) {
  std::vector<UOp> ranges;
  for (UOp s : sources_from(u, 1)) {
    if (s.dtype() == dtypes::void_ || s.dtype() == dtypes::bool_) throw Refusal{"it ends a loop without a bound"};
    for (const ValueElement& e : im[s].elements)
      if (op_in_backward_slice_with_self(e.node, {Op::RANGE, Op::SPECIAL}) && !std::ranges::count(ranges, e.node))
        ranges.push_back(e.node);
  }
  return Importer::node(buffer_or_scalar(im, u.src(0)).end(ranges));
}

// ENDRANGE(range) ends a range in a linear list.
Value make_end_range(Importer& im, UOp u) { return Importer::node(im.new_graph.noop().end(im.scalar(u.src(0)))); }

// Leaves out the group ranges on which the accumulator x of AFTER(x, others) does not depend (is_outside_range).
Value make_after(Importer& im, UOp u) {
  std::vector<UOp> others;
  for (UOp s : sources_from(u, 1))
    if (!im.is_outside_range(s, u)) others.push_back(buffer_or_scalar(im, s));
  Value out = im[u.src(0)];
  if (others.empty()) return out;
  if (out.view) out.view->buffer = out.view->buffer.after(others);
  for (ValueElement& e : out.elements) (e.buffer ? e.buffer : e.node) = (e.buffer ? e.buffer : e.node).after(others);
  return out;
}

// Returns a KernelInfo with name, opts and `dont_use_locals` of the SINK `u`; None if these are the defaults.
Arg kernel_info(Importer& im, UOp u) {
  Arg name = field_of_record(u.arg(), "name"), no_locals = field_of_record(u.arg(), "dont_use_locals"),
      opts = field_of_record(u.arg(), "opts_to_apply");
  const bool has_name = name.is_str() && name.text() != "test";
  const bool has_no_locals = no_locals.kind() == Arg::Kind::Bool && no_locals.as_bool();
  if (!has_name && !opts.is_tuple() && !has_no_locals) return {};
  return im.new_graph.record(RecordClass::KernelInfo, {im.new_graph.str(name.is_str() ? name.text() : "test"),
                                                       im.new_graph.tuple({}), has_no_locals, im.new_graph.tuple({}),
                                                       opts.is_tuple() ? copy_arg(im.new_graph, opts) : Arg()});
}

Value make_sink(Importer& im, UOp u) {
  std::vector<UOp> src;
  for (UOp s : u.src()) src.push_back(buffer_or_scalar(im, s));
  return Importer::node(im.new_graph.sink(src, kernel_info(im, u)));
}

// A NOOP with a value becomes its source. An IF loses the gated address, which tinygrad adds to tell IFs apart.
Value make_order(Importer& im, UOp u) {
  if (u.is(Op::NOOP) && u.dtype() != dtypes::void_ && u.num_src()) return im[u.src(0)];
  std::vector<UOp> src;
  for (UOp s : u.is(Op::IF) ? u.src().first(1) : u.src()) {
    UOp n = u.is(Op::IF) ? im.scalar(s, dtypes::bool_) : buffer_or_scalar(im, s);
    if (!u.is(Op::GROUP) || !std::ranges::count(src, n)) src.push_back(n);
  }
  return Importer::node(im.new_graph.node(u.op(), dtypes::void_, src));
}

// The arg is source code in the target's language.
Value make_custom(Importer& im, UOp u) {
  const ElementType type = u.dtype() == dtypes::void_ ? ElementType{dtypes::void_} : Importer::type_of(u.dtype());
  if (!u.arg().is_str()) throw Refusal{"its arg " + u.arg().repr() + " is unknown"};
  std::vector<UOp> src;
  for (UOp s : u.src())
    src.push_back(im[s].dtype == dtypes::void_ || im[s].view ? buffer_or_scalar(im, s) : im.scalar(s));
  return Importer::node(im.new_graph.node(u.op(), type.dtype, src, im.new_graph.str(u.arg().text())), type.dtype);
}

Value make_first_source(Importer& im, UOp u) { return im[u.src(0)]; }

}  // namespace tgc::import
