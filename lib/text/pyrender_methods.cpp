#include <algorithm>

#include "lib/support/name_table.h"
#include "lib/support/settings.h"
#include "lib/text/parse_cache.h"
#include "lib/text/pyrender_reader.h"
#include "lib/text/restore.h"
#include "lib/uop/exec_alu.h"
#include "lib/uop/facts.h"

namespace tgc {

enum class PyrenderReader::Method : uint8_t {
  After, Alu, Assign, Barrier, Bitcast, Broadcast, Cast, Contiguous, CopyToDevice, Detach, Encdec, End, Eq, Exp2,
  Expand, Flip, ForcedReshape, Gep, Index, Load, Log2, LogicalNot, Maximum, Minimum, Ne, Pad, Permute, Pow, R,
  Reciprocal, Reduce, Replace, Reshape, Rtag, Shrink, Sin, Sink, Sqrt, Store, Threefry, Trunc, Where,
};

struct PyrenderReader::MethodName {
  std::string_view name;
  Method method;
};

constexpr PyrenderReader::MethodName PyrenderReader::kMethods[] = {
    {"after", Method::After}, {"alu", Method::Alu}, {"assign", Method::Assign}, {"barrier", Method::Barrier},
    {"bitcast", Method::Bitcast}, {"broadcast", Method::Broadcast}, {"cast", Method::Cast},
    {"contiguous", Method::Contiguous}, {"copy_to_device", Method::CopyToDevice}, {"detach", Method::Detach},
    {"encdec", Method::Encdec}, {"end", Method::End}, {"eq", Method::Eq}, {"exp2", Method::Exp2},
    {"expand", Method::Expand}, {"flip", Method::Flip}, {"forced_reshape", Method::ForcedReshape},
    {"gep", Method::Gep}, {"index", Method::Index}, {"load", Method::Load}, {"log2", Method::Log2},
    {"logical_not", Method::LogicalNot}, {"maximum", Method::Maximum}, {"minimum", Method::Minimum},
    {"ne", Method::Ne}, {"pad", Method::Pad}, {"permute", Method::Permute}, {"pow", Method::Pow}, {"r", Method::R},
    {"reciprocal", Method::Reciprocal}, {"reduce", Method::Reduce}, {"replace", Method::Replace},
    {"reshape", Method::Reshape}, {"rtag", Method::Rtag}, {"shrink", Method::Shrink}, {"sin", Method::Sin},
    {"sink", Method::Sink}, {"sqrt", Method::Sqrt}, {"store", Method::Store}, {"threefry", Method::Threefry},
    {"trunc", Method::Trunc}, {"where", Method::Where},
};

PyValueReader::Value PyrenderReader::read_uop_call(size_t at) {
  CallArguments args = read_arguments();
  check_keywords(args, {"op", "dtype", "src", "arg", "tag"});
  const CallArgument *op = args.find(0, "op"), *dtype = args.find(1, "dtype"), *src = args.find(2, "src"),
                 *arg = args.find(3, "arg"), *tag = args.find(4, "tag");
  if (!op || op->value.is_list || !op->value.arg.is_op())
    throw_error(at, "UOp(...) without an op", "UOp(Ops.NAME, ...)");
  DType d = dtype ? as_dtype(dtype->value, dtype->offset) : dtypes::void_;
  Arg a = arg ? as_arg(arg->value) : Arg();
  current_sources_.clear();
  if (src) append_uops(current_sources_, src->value, src->offset);
  return {make_node(at, op->value.arg.op(), d, current_sources_, a, tag ? as_arg(tag->value) : Arg())};
}

const PyValueReader::CallArgument& PyrenderReader::required_argument(const CallArguments& args, size_t i,
                                                                     const char* what, size_t at) {
  if (i >= args.size() || !args[i].keyword.empty()) throw_error(at, std::string("UOp without ") + what);
  return args[i];
}

DType PyrenderReader::dtype_keyword(const CallArguments& args, DType otherwise) {
  const CallArgument* k = args.keyword("dtype");
  return k ? as_dtype(k->value, k->offset) : otherwise;
}

Arg PyrenderReader::device_argument(const CallArgument& a) {
  Arg device = as_arg(a.value);
  if (!device.is_str() && !device.is_tuple()) throw_wrong_type(a.value, a.offset, "a device");
  return device;
}

UOp PyrenderReader::size_argument(const CallArgument& a, DType dtype) {
  if (a.value.is_uop()) return a.value.arg.uop().cast(dtype);
  UOp out;
  run_at_position(a.offset, [&] { out = graph_.constant(dtype, as_const(a.value, a.offset)); });
  return out;
}

// Reads the arguments of UOp.const, such as "(dtypes.int, 3)". Caches the constants, because texts repeat the same few.
PyValueReader::Value PyrenderReader::read_constant(size_t at) {
  struct KnownConst {
    DType dtype;
    Arg value;
  };
  static constinit thread_local ParseCache<KnownConst> known_by_dialect[2];
  auto& known_consts = known_by_dialect[is_foreign()];
  size_t end = std::min(input_text_.find(')', position_), input_text_.size() - 1) + 1;
  std::string_view piece = input_text_.substr(position_, end - position_);
  if (const KnownConst* known = known_consts.find_value(piece))
    return position_ = end, Value{graph_.node(Op::CONST, known->dtype, {}, known->value)};
  CallArguments args = read_arguments();
  UOp c = make_const(args, at);
  bool of_no_graph = c.is_const() && c.num_src() == 0 && c.arg().is_const() && c.arg().kind() != Arg::Kind::BigInt;
  if (position_ == end && of_no_graph) known_consts.store_value(piece, {c.dtype(), c.arg()});
  return {c};
}

PyValueReader::Value PyrenderReader::read_uop_static(size_t at) {
  size_t name_at = position_ + 1;
  std::string_view name = read_attribute("a method of UOp");
  CallArguments args = read_arguments();
  if (name == "const" || name == "unique_const") return {make_const(args, at)};
  if (name == "range") return {make_range(args, at)};
  if (name == "special") return {make_special(args, at)};
  if (name == "variable") return {make_variable(args, at)};
  if (name == "new_buffer") return {make_buffer(args, at)};
  return {make_leaf(name, name_at, args)};
}

UOp PyrenderReader::make_const(const CallArguments& args, size_t at) {
  const CallArgument &d = required_argument(args, 0, "a dtype", at), &v = required_argument(args, 1, "a value", at);
  DType dtype = as_dtype(d.value, d.offset);
  if (args.size() == 2 && !v.value.is_list && v.value.arg.is_const()) {
    UOp c;
    run_at_position(v.offset, [&] { c = graph_.constant(dtype, v.value.arg.to_const()); });
    return c;
  }
  check_keywords(args, {"device", "unique"});
  Arg value = as_arg(v.value);
  if (!value.is_const() && !value.is_tuple()) throw_wrong_type(v.value, v.offset, "a number");
  UOp c;
  run_at_position(v.offset, [&] {
    if (value.is_tuple())
      for (Arg a : value.items())
        if (!a.is_const())
          throw Failure(Diag{.message = "found " + a.repr() + " in a constant", .expected = "a number"});
    c = const_from_arg(graph_, dtype, value);
  });
  std::vector<UOp> src;
  if (const CallArgument* k = args.find(2, "device"); k && !as_arg(k->value).is_none())
    src.push_back(graph_.node(Op::DEVICE, dtypes::void_, {}, device_argument(*k)));
  if (const CallArgument* k = args.keyword("unique"))
    src.push_back(graph_.node(Op::UNIQUE, dtypes::void_, {}, as_arg(k->value)));
  return src.empty() ? c : c.with_src(src);
}

UOp PyrenderReader::make_range(const CallArguments& args, size_t at) {
  check_keywords(args, {"dtype", "src"});
  const CallArgument& end = required_argument(args, 0, "an end", at);
  DType dtype = dtype_keyword(args, dtypes::index);
  std::vector<Arg> axis;
  axis.reserve(args.size() + 1);
  for (size_t i = 1; i < args.size() && args[i].keyword.empty(); i++) axis.push_back(as_arg(args[i].value));
  if (axis.empty() || axis.back().kind() != Arg::Kind::AxisType) axis.push_back(AxisType::LOOP);
  if (axis.size() < 2) throw_error(at, "UOp.range without an axis number");
  for (size_t i = 0; i + 1 < axis.size(); i++)
    if (!axis[i].is_int()) throw_error(at, "UOp.range with the axis " + axis[i].repr(), "an integer");
  current_sources_.assign(1, size_argument(end, dtype));
  if (const CallArgument* k = args.keyword("src")) append_uops(current_sources_, k->value, k->offset);
  return graph_.node(Op::RANGE, dtype, current_sources_, graph_.tuple(axis));
}

UOp PyrenderReader::make_special(const CallArguments& args, size_t at) {
  const CallArgument &end = required_argument(args, 0, "an end", at), &name = required_argument(args, 1, "a name", at);
  DType dtype = dtype_keyword(args, dtypes::index);
  if (name.value.is_list || !name.value.arg.is_str()) throw_wrong_type(name.value, name.offset, "a name");
  return graph_.node(Op::SPECIAL, dtype, size_argument(end, dtype), name.value.arg);
}

UOp PyrenderReader::make_variable(const CallArguments& args, size_t at) {
  const CallArgument &name = required_argument(args, 0, "a name", at),
                     &low = required_argument(args, 1, "a minimum", at),
                     &high = required_argument(args, 2, "a maximum", at);
  if (name.value.is_list || !name.value.arg.is_str()) throw_wrong_type(name.value, name.offset, "a name");
  Arg arg = graph_.tuple({name.value.arg, as_const(low.value, low.offset), as_const(high.value, high.offset)});
  return graph_.node(Op::DEFINE_VAR, dtype_keyword(args, dtypes::index), {}, arg);
}

UOp PyrenderReader::make_buffer(const CallArguments& args, size_t at) {
  const CallArgument &device = required_argument(args, 0, "a device", at),
                     &size = required_argument(args, 1, "a size", at), &d = required_argument(args, 2, "a dtype", at),
                     &number = required_argument(args, 3, "a number", at);
  UOp src[] = {graph_.node(Op::UNIQUE, dtypes::void_, {}, as_arg(number.value)),
               graph_.node(Op::DEVICE, dtypes::void_, {}, device_argument(device))};
  return graph_.node(Op::BUFFER, as_dtype(d.value, d.offset), src, as_int(size.value, size.offset));
}

// Makes the node of a static method that no other function handles, such as UOp.sink() or UOp.unique(arg=3).
UOp PyrenderReader::make_leaf(std::string_view name, size_t name_at, const CallArguments& args) {
  std::string upper(name);
  for (char& c : upper) c = char(c >= 'a' && c <= 'z' ? c & ~32 : c);
  auto op = parse_op(upper);
  if (!op) throw_error(name_at, "UOp has no method '" + std::string(name) + "'");
  check_keywords(args, {"arg", "dtype"});
  std::vector<UOp> src;
  for (const CallArgument& a : args)
    if (a.keyword.empty()) src.push_back(as_uop(a.value, a.offset));
  const CallArgument* arg = args.keyword("arg");
  return make_node(name_at, *op, dtype_keyword(args, dtypes::void_), src, arg ? as_arg(arg->value) : Arg());
}

PyValueReader::Value PyrenderReader::read_postfix(Value v) {
  for (;;) {
    skip_blanks_in_line();
    if (peek_char() != '.' || is_digit(peek_char(1))) return v;
    size_t at = ++position_;
    std::string_view name = read_identifier("a method");
    if (!v.is_uop()) throw_error(at, describe_value(v) + " has no method '" + std::string(name) + "'");
    v = {read_method_call(v.arg.uop(), name, at)};
  }
}

UOp PyrenderReader::read_method_call(UOp self, std::string_view name, size_t at) {
  static const std::vector<std::string_view> kNames = [] {
    std::vector<std::string_view> names;
    for (auto& m : kMethods) names.push_back(m.name);
    return names;
  }();
  static const NameTable kTable(kNames);
  int method = kTable.find(name);
  if (method < 0) throw_error(at, "a UOp has no method '" + std::string(name) + "'", nearest_names_text(name, kNames));
  CallArguments args = read_arguments();
  UOp out;
  run_at_position(at, [&] { out = call_method(self, kMethods[method].method, name, args, at); });
  return out;
}

void PyrenderReader::check_argument_count(const CallArguments& args, size_t least, size_t most, std::string_view name,
                                          size_t at) {
  if (args.size() >= least && args.size() <= most) return;
  throw_error(at, std::string(name) + "() with " + std::to_string(args.size()) + " arguments",
              least == most ? std::to_string(least) : std::to_string(least) + " to " + std::to_string(most));
}

// Returns a UOp unchanged, a number as a constant with the dtype, device and shape of `like`.
UOp PyrenderReader::operand_node(const CallArgument& a, UOp like) {
  return a.value.is_uop() ? a.value.arg.uop() : like.const_like(as_const(a.value, a.offset));
}

// The node's sources are `self` and the positional arguments; its arg is the argument arg=.
UOp PyrenderReader::generic_call_node(UOp self, Op op, DType dtype, const CallArguments& args, size_t at) {
  Arg arg;
  current_sources_.clear();
  current_sources_.push_back(self);
  for (const CallArgument& a : args) {
    if (a.keyword.empty()) current_sources_.push_back(as_uop(a.value, a.offset));
    else if (a.keyword == "arg") arg = as_arg(a.value);
    else check_keywords(args, {"arg", "dtype", "ptr"});
  }
  return make_node(at, op, dtype, current_sources_, arg);
}

UOp PyrenderReader::alu_call_node(UOp self, Op op, const CallArguments& args, size_t at) {
  bool unary = ops::Unary.contains(op);
  check_argument_count(args, unary ? 0 : 1, unary ? 0 : 1, name_of(op), at);
  return unary ? self.alu(op) : self.alu(op, operand_node(args[0], self));
}

UOp PyrenderReader::assign_call_node(UOp self, const CallArguments& args, size_t at) {
  bool plain = self.is_const() && self.num_src() == 0 && args.size() == 1 && args[0].keyword.empty();
  if (!plain || !may_infer()) return generic_call_node(self, Op::ASSIGN, self.dtype(), args, at);
  UOpSet named(graph_);
  for (UOp u : numbered_nodes_)
    if (u) named.insert(u);
  for (auto& [_, u] : named_nodes_) named.insert(u);
  return make_assign_to_unique_constant(self, as_uop(args[0].value, args[0].offset), named, num_unique_constants_++);
}

UOp PyrenderReader::replace_call_node(UOp self, const CallArguments& args, size_t at) {
  check_keywords(args, {"op", "dtype", "src", "arg", "tag"});
  UOp out = self;
  for (const CallArgument& a : args) {
    if (a.keyword == "dtype") {
      out = out.with_dtype(as_dtype(a.value, a.offset));
    } else if (a.keyword == "src") {
      std::vector<UOp> src;
      append_uops(src, a.value, a.offset);
      out = out.with_src(src);
    } else if (a.keyword == "arg") {
      out = out.with_arg(as_arg(a.value));
    } else if (a.keyword == "tag") {
      out = out.rtag(as_arg(a.value));
    } else if (a.keyword == "op" && as_arg(a.value).is_op()) {
      out = out.replace({.op = as_arg(a.value).op()});
    } else {
      throw_error(at, "replace() with a positional argument", "op=, dtype=, src=, arg= or tag=");
    }
  }
  return make_node(at, out.op(), out.dtype(), out.src(), out.arg(), out.tag());
}

UOp PyrenderReader::where_call_node(UOp self, const CallArguments& args, size_t at) {
  check_argument_count(args, 2, 2, "where", at);
  bool yes = args[0].value.is_uop(), no = args[1].value.is_uop();
  if (!yes && !no) throw_error(at, "where() of two constants", "a UOp");
  UOp y = yes ? args[0].value.arg.uop() : operand_node(args[0], args[1].value.arg.uop());
  return self.where(y, operand_node(args[1], y));
}

UOp PyrenderReader::explicit_alu_call_node(UOp self, const CallArguments& args, size_t at) {
  if (args.empty() || args[0].value.is_list || !args[0].value.arg.is_op()) throw_error(at, "alu() without an op");
  std::vector<UOp> rest;
  for (size_t i = 1; i < args.size(); i++) rest.push_back(as_uop(args[i].value, args[i].offset));
  return self.alu(args[0].value.arg.op(), rest);
}

UOp PyrenderReader::broadcast_call_node(UOp self, const CallArguments& args, size_t at) {
  check_argument_count(args, 1, 1, "broadcast", at);
  int64_t n = as_int(args[0].value, args[0].offset);
  if (n < 1 || n > 1 << 16) throw_error(args[0].offset, "broadcast to " + std::to_string(n), "1 to 65536 elements");
  return self.broadcast(n);
}

UOp PyrenderReader::gep_call_node(UOp self, const CallArguments& args, size_t at) {
  check_argument_count(args, 1, 1, "gep", at);
  Arg a = as_arg(args[0].value);
  if (!a.is_tuple()) return self.gep(as_int(args[0].value, args[0].offset));
  std::vector<int64_t> indices;
  for (Arg i : a.items()) indices.push_back(i.is_int() ? i.small_int() : -1);
  return self.gep(indices);
}

UOp PyrenderReader::copy_call_node(UOp self, const CallArguments& args, size_t at) {
  check_argument_count(args, 1, 1, "copy_to_device", at);
  UOp d = args[0].value.is_uop() ? args[0].value.arg.uop()
                                 : graph_.node(Op::DEVICE, dtypes::void_, {}, device_argument(args[0]));
  return graph_.node(Op::COPY, self.dtype(), {self, d});
}

UOp PyrenderReader::reduce_axis_call_node(UOp self, const CallArguments& args, size_t at) {
  check_argument_count(args, 2, 2, "r", at);
  Arg op = as_arg(args[0].value), axes = as_arg(args[1].value);
  if (!op.is_op() || !axes.is_tuple()) throw_error(at, "r() with wrong arguments", "r(Ops.ADD, (0, 1))");
  UOp out = graph_.node(Op::REDUCE_AXIS, self.dtype(), self, graph_.tuple({op, axes}));
  shape_of(out);
  return out;
}

// In texts without a header, infers the dtype of a LOAD. A LOAD through n pointers yields n elements; a LOAD of an
// image pixel yields 4. A LOAD from an integer address (PTX) has the dtype of its alternative value, c3 in `load(c3)`,
// or else that of the pointer's elements, with a vector length that its uses decide.
UOp PyrenderReader::load_call_node(UOp from, const CallArguments& args, size_t at) {
  bool address = from.is(Op::INDEX) && from.dtype() == dtypes::int64 && from.src(0).dtype().is_ptr();
  if (!address || args.keyword("dtype") || !may_infer())
    return generic_call_node(from, Op::LOAD, dtype_keyword(args, loaded_dtype(from)), args, at);
  if (!args.empty() && args[0].value.is_uop())
    return generic_call_node(from, Op::LOAD, args[0].value.arg.uop().dtype(), args, at);
  UOp out = generic_call_node(from, Op::LOAD, from.src(0).dtype().base().scalar(), args, at);
  infer_length_later(out);
  return out;
}
DType PyrenderReader::loaded_dtype(UOp from) {
  DType d = from.dtype();
  int64_t n = !d.is_ptr() || d.base().count() > 1 ? 1 : d.vcount();
  if (from.is(Op::INDEX) && d.is_image() && from.num_src() > 1 && from.src(1).dtype().count() == 2) n = 4;
  return n > 1 && may_infer() ? d.base().vec(n) : d.base();
}

// If the text states no dtype, the REDUCE has the dtype of its source. If the source is a vector, and the text has no
// header, the uses decide the length of the result, which may be shorter.
UOp PyrenderReader::reduce_call_node(UOp self, const CallArguments& args, size_t at) {
  UOp out = generic_call_node(self, Op::REDUCE, dtype_keyword(args, self.dtype()), args, at);
  if (self.dtype().count() > 1 && !args.keyword("dtype") && may_infer()) infer_length_later(out);
  return out;
}

UOp PyrenderReader::call_method(UOp self, Method method, std::string_view name, const CallArguments& args, size_t at) {
  switch (method) {
    case Method::Index: {
      const CallArgument* ptr = args.keyword("ptr");
      bool is_ptr = ptr && !ptr->value.is_list && ptr->value.arg == Arg(true);
      return generic_call_node(self, Op::INDEX, dtype_keyword(args, is_ptr ? self.dtype() : self.dtype().base()), args,
                               at);
    }
    case Method::Load: return load_call_node(self, args, at);
    case Method::Store: return generic_call_node(self, Op::STORE, dtypes::void_, args, at);
    case Method::End: return args.empty() ? self : generic_call_node(self, Op::END, dtypes::void_, args, at);
    case Method::After: return generic_call_node(self, Op::AFTER, self.dtype(), args, at);
    case Method::Barrier: return generic_call_node(self, Op::BARRIER, dtypes::void_, args, at);
    case Method::Sink: return generic_call_node(self, Op::SINK, dtypes::void_, args, at);
    case Method::Reduce: return reduce_call_node(self, args, at);
    case Method::Assign: return assign_call_node(self, args, at);
    case Method::Contiguous: return generic_call_node(self, Op::CONTIGUOUS, self.dtype(), args, at);
    case Method::Detach: return generic_call_node(self, Op::DETACH, self.dtype(), args, at);
    case Method::Encdec: return generic_call_node(self, Op::ENCDEC, self.dtype(), args, at);
    case Method::Threefry: return alu_call_node(self, Op::THREEFRY, args, at);
    case Method::Maximum: return alu_call_node(self, Op::MAX, args, at);
    case Method::Ne: return alu_call_node(self, Op::CMPNE, args, at);
    case Method::Eq: return alu_call_node(self, Op::CMPNE, args, at).logical_not();
    case Method::Pow: return alu_call_node(self, Op::POW, args, at);
    case Method::Exp2: return alu_call_node(self, Op::EXP2, args, at);
    case Method::Log2: return alu_call_node(self, Op::LOG2, args, at);
    case Method::Sin: return alu_call_node(self, Op::SIN, args, at);
    case Method::Sqrt: return alu_call_node(self, Op::SQRT, args, at);
    case Method::Reciprocal: return alu_call_node(self, Op::RECIPROCAL, args, at);
    case Method::Trunc: return alu_call_node(self, Op::TRUNC, args, at);
    case Method::LogicalNot: check_argument_count(args, 0, 0, name, at); return self.logical_not();
    case Method::Minimum: check_argument_count(args, 1, 1, name, at); return self.minimum(operand_node(args[0], self));
    case Method::Where: return where_call_node(self, args, at);
    case Method::Cast:
      check_argument_count(args, 1, 1, name, at);
      return graph_.node(Op::CAST, as_dtype(args[0].value, args[0].offset), self);
    case Method::Bitcast:
      check_argument_count(args, 1, 1, name, at);
      return self.bitcast(as_dtype(args[0].value, args[0].offset));
    case Method::Alu: return explicit_alu_call_node(self, args, at);
    case Method::Broadcast: return broadcast_call_node(self, args, at);
    case Method::Gep: return gep_call_node(self, args, at);
    case Method::CopyToDevice: return copy_call_node(self, args, at);
    case Method::Rtag:
      check_argument_count(args, 0, 1, name, at);
      return self.rtag(args.empty() ? Arg(true) : as_arg(args[0].value));
    case Method::Replace: return replace_call_node(self, args, at);
    case Method::R: return reduce_axis_call_node(self, args, at);
    case Method::Reshape: case Method::ForcedReshape: case Method::Expand: case Method::Permute: case Method::Pad:
    case Method::Shrink:
    case Method::Flip: return movement_call_node(self, method, args, at);
  }
  throw_error(at, "unknown method");
}

// ---- movement ops; the result's shape is checked here, so that the error message points to the call

UOp PyrenderReader::movement_call_node(UOp self, Method method, const CallArguments& args, size_t at) {
  if (self.is_const() && self.num_src() == 0 && may_infer())
    self = make_local_unique_constant(self, num_unique_constants_++);
  UOp out;
  if (method == Method::Permute) {
    check_argument_count(args, 1, 1, "permute", at);
    out = graph_.node(Op::PERMUTE, self.dtype(), self, as_arg(args[0].value));
  } else if (method == Method::Flip) {
    check_argument_count(args, 1, 1, "flip", at);
    std::vector<Arg> axes(shape_of(self).size(), Arg(false));
    Arg list = as_arg(args[0].value);
    for (Arg a : list.is_tuple() ? list.items() : std::span<const Arg>(&list, 1)) {
      if (!a.is_int() || a.as_int() < 0 || a.as_int() >= Int(int64_t(axes.size())))
        throw_error(args[0].offset, "flip of the axis " + a.repr());
      axes[size_t(a.small_int())] = true;
    }
    out = graph_.node(Op::FLIP, self.dtype(), self, graph_.tuple(axes));
  } else if (method == Method::Pad || method == Method::Shrink) {
    if (args.size() != 1 || !as_arg(args[0].value).is_tuple()) throw_error(at, "wrong arguments", "one tuple of pairs");
    std::vector<Arg> first, second;
    for (Arg pair : as_arg(args[0].value).items()) {
      if (!pair.is_tuple() || pair.items().size() != 2) throw_error(at, "found " + pair.repr(), "a pair");
      first.push_back(pair[0]);
      second.push_back(pair[1]);
    }
    UOp a = sizes_node(first, at), b = sizes_node(second, at);
    out = graph_.node(method == Method::Pad ? Op::PAD : Op::SHRINK, self.dtype(), {self, a, b});
  } else {
    std::vector<Arg> sizes;
    if (args.size() == 1 && as_arg(args[0].value).is_tuple()) {
      auto items = as_arg(args[0].value).items();
      sizes.assign(items.begin(), items.end());
    } else {
      for (const CallArgument& a : args) sizes.push_back(as_arg(a.value));
    }
    UOp s = sizes_node(sizes, at);
    out = graph_.node(method == Method::Expand ? Op::EXPAND : Op::RESHAPE, self.dtype(), {self, s});
  }
  shape_of(out);
  return out;
}

// Returns `sizes` (integers and UOps) as a source of a movement op.
UOp PyrenderReader::sizes_node(std::span<const Arg> sizes, size_t at) {
  DType dtype = dtypes::index.vec(int64_t(sizes.size()));
  if (sizes.empty()) return graph_.node(Op::VECTORIZE, dtype);
  bool all_ints = true;
  for (Arg a : sizes) {
    if (!a.is_int() && !a.is_uop()) throw_error(at, "found the size " + a.repr(), "an integer or a UOp");
    all_ints &= a.is_int();
  }
  if (all_ints) {
    std::vector<Const> values;
    for (Arg a : sizes) values.push_back(a.to_const());
    return graph_.constant(dtype, values);
  }
  std::vector<UOp> src;
  for (Arg a : sizes) src.push_back(a.is_uop() ? a.uop() : graph_.constant(dtypes::index, a.to_const()));
  return graph_.node(Op::VECTORIZE, dtype, src);
}

}  // namespace tgc
