#include "lib/text/pyrender.h"
#include "lib/text/pyrender_reader.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "lib/support/name_table.h"
#include "lib/text/pyrender_writer.h"
#include "lib/text/repr.h"
#include "lib/text/restore.h"
#include "lib/uop/release.h"

namespace tgc {
namespace {

constexpr OpSet kVoid{Op::SINK, Op::STORE, Op::END, Op::BARRIER, Op::UNIQUE};
constexpr OpSet kDivisions{Op::CDIV, Op::CMOD, Op::FLOORDIV, Op::FLOORMOD};
constexpr OpSet kFloatFunctions{Op::SQRT, Op::RECIPROCAL, Op::EXP2, Op::LOG2, Op::SIN};

DType promoted_dtype(DType a, DType b) { return promoted_dtype_0_14(a, b).value_or(a); }

class OpenPyrenderReader : public PyrenderReader {
 public:
  OpenPyrenderReader(Graph& graph, std::string_view text, std::string_view file, NodePlaces* places)
      : PyrenderReader(graph, text, file, places), is_0_13_(graph.release() == Release::v0_13), known_devices_(graph) {}

 private:

  Value read_uop_call(size_t at) override {
    CallArguments args = read_arguments();
    check_keywords(args, {"op", "dtype", "src", "arg", "tag"});
    const CallArgument *op = args.find(0, "op"), *dtype = args.find(1, "dtype"), *src = args.find(2, "src"),
                   *arg = args.find(3, "arg"), *tag = args.find(4, "tag");
    Arg name = op ? as_arg(op->value) : Arg(), a = arg ? as_arg(arg->value) : Arg();
    const bool is_new = name.kind() == Arg::Kind::Raw && name.text().starts_with("Ops.");
    if (!name.is_op() && !is_new) throw_error(at, "UOp(...) without an op", "UOp(Ops.NAME, ...)");
    Op o = is_new ? Op::OTHER : name.op();
    if (o == Op::OTHER) a = other_node_arg(graph_, is_new ? name.text().substr(4) : name_of(o), a);
    current_sources_.clear();
    if (src) append_uops(current_sources_, src->value, src->offset);
    DType d = dtype && !(as_arg(dtype->value).is_none()) ? as_dtype(dtype->value, dtype->offset) : dtypes::void_;
    if (o == Op::DEVICE && first_device_.is_none()) first_device_ = a;
    return {graph_.node(o, d, current_sources_, a, tag ? as_arg(tag->value) : Arg())};
  }

  // Returns the arg of a CONST: an integer as a float for float dtypes, a float as const_float() returns it.
  Arg const_arg(DType dtype, Arg value) {
    if (value.is_int() && is_float_of_any_release(dtype)) return Arg(value.to_const().to_double());
    return value.is_const() ? const_float(graph_, value) : value;
  }
  UOp device_node(Arg device) {
    if (first_device_.is_none()) first_device_ = device;
    return graph_.node(Op::DEVICE, dtypes::void_, {}, device);
  }

  // Reads "(3, dtypes.int)" of 0.14, "(dtypes.int, 3, device='CPU')" of 0.13.
  UOp make_const(const CallArguments& args, size_t at) override {
    check_keywords(args, {"dtype", "device"});
    const bool dtype_first = !args.empty() && !args[0].value.is_list && args[0].value.arg.kind() == Arg::Kind::DType;
    const CallArgument& value = required_argument(args, dtype_first ? 1 : 0, "a value", at);
    const CallArgument* d = dtype_first ? &args[0] : args.find(1, "dtype");
    Arg number = as_arg(value.value);
    if (!number.is_const() && !number.is_tuple() && number.kind() != Arg::Kind::Raw)
      throw_wrong_type(value.value, value.offset, "a number");
    DType dtype = d ? as_dtype(d->value, d->offset) : dtype_of(number);
    UOp c = graph_.node(Op::CONST, dtype, {}, const_arg(dtype, number));
    const CallArgument* device = args.keyword("device");
    return device ? c.with_src(device_node(device_argument(*device))) : c;
  }
  static DType dtype_of(Arg number) {
    if (number.kind() == Arg::Kind::Bool || number.is_invalid()) return dtypes::bool_;
    return number.is_int() ? weakint() : weakfloat();
  }

  // Reads "(3, dtype=dtypes.int, device='CPU', unique=7)".
  UOp read_unique_constant(const CallArguments& args, size_t at) {
    check_keywords(args, {"dtype", "device", "unique"});
    const CallArgument &value = required_argument(args, 0, "a value", at), *device = args.keyword("device"),
                   *unique = args.keyword("unique");
    if (!device || !unique) throw_error(at, "UOp.unique_const without its number or device", "device= and unique=");
    Arg number = as_arg(value.value);
    DType dtype = dtype_keyword(args, dtype_of(number));
    UOp own = graph_.node(Op::UNIQUE, dtypes::void_, {}, as_arg(unique->value));
    UOp src[] = {own, device_node(device_argument(*device))};
    return graph_.node(Op::CONST, dtype, src, const_arg(dtype, number));
  }

  UOp read_size(const CallArgument& a, DType dtype) {
    if (a.value.is_uop()) return a.value.arg.uop();
    return graph_.node(Op::CONST, dtype, {}, const_arg(dtype, Arg(as_const(a.value, a.offset))));
  }

  Value read_uop_static(size_t at) override {
    size_t name_at = position_ + 1;
    std::string_view name = read_attribute("a method of UOp");
    if (name == "const") return read_constant(at);
    CallArguments args = read_arguments();
    if (name == "unique_const") return {read_unique_constant(args, at)};
    if (name == "range") return {read_range(args, at)};
    if (name == "special") return {read_special(args, at)};
    if (name == "variable") return {read_variable(args, at)};
    if (name == "new_buffer") return {read_buffer(args, at)};
    auto op = op_of_method(name);
    if (!op) throw_error(name_at, "UOp has no method '" + std::string(name) + "'");
    current_sources_.clear();
    return {make_generic_node(*op, args, name_at)};
  }

  UOp read_range(const CallArguments& args, size_t at) {
    check_keywords(args, {"dtype", "src"});
    const CallArgument& end = required_argument(args, 0, "an end", at);
    DType dtype = dtype_keyword(args, weakint());
    std::vector<Arg> axis;
    for (size_t i = 1; i < args.size() && args[i].keyword.empty(); i++) axis.push_back(as_arg(args[i].value));
    if (axis.empty()) throw_error(at, "UOp.range without an axis number");
    if (axis.size() == 1) axis.push_back(is_0_13_ ? Arg(AxisType::LOOP) : graph_.raw_arg("AxisType.WEAK"));
    current_sources_.assign(1, read_size(end, dtype));
    if (const CallArgument* k = args.keyword("src")) append_uops(current_sources_, k->value, k->offset);
    return graph_.node(Op::RANGE, dtype, current_sources_, graph_.tuple(axis));
  }

  UOp read_special(const CallArguments& args, size_t at) {
    check_keywords(args, {"dtype"});
    const CallArgument &end = required_argument(args, 0, "an end", at),
                       &name = required_argument(args, 1, "a name", at);
    DType dtype = dtype_keyword(args, weakint());
    return graph_.node(Op::SPECIAL, dtype, read_size(end, dtype), as_arg(name.value));
  }

  UOp read_variable(const CallArguments& args, size_t at) {
    check_keywords(args, {"dtype"});
    const CallArgument &name = required_argument(args, 0, "a name", at),
                       &low = required_argument(args, 1, "a minimum", at),
                       &high = required_argument(args, 2, "a maximum", at);
    Arg arg = graph_.tuple({as_arg(name.value), as_arg(low.value), as_arg(high.value)});
    return graph_.node(Op::DEFINE_VAR, dtype_keyword(args, weakint()), {}, arg);
  }

  Arg param_of_buffer(Arg slot, DType dtype, Arg device) {
    std::vector<Arg> fields{graph_.str(""), graph_.str("")},
        items{graph_.str("ParamArg"), Arg(), slot, Arg(dtype)};
    if (!device.is_none()) fields.push_back(graph_.str("device")), items.push_back(device);
    items[1] = graph_.tuple(fields);
    return graph_.record(RecordClass::Open, items);
  }

  UOp read_buffer(const CallArguments& args, size_t at) {
    const CallArgument &of = required_argument(args, 0, "a device", at),
                   &elements = required_argument(args, 1, "a size", at), &d = required_argument(args, 2, "a dtype", at),
                   &number = required_argument(args, 3, "a number", at);
    Arg device = as_arg(of.value), slot = as_arg(number.value);
    DType dtype = as_dtype(d.value, d.offset);
    UOp shape = is_0_13_ ? UOp() : read_size(elements, weakint());
    if (!is_0_13_) return graph_.node(Op::BUFFER, dtype, shape, param_of_buffer(slot, dtype, device));
    UOp src[] = {graph_.node(Op::UNIQUE, dtypes::void_, {}, slot), device_node(device)};
    return graph_.node(Op::BUFFER, dtype, src, as_arg(elements.value));
  }

  enum class Method : uint8_t { Cast, Bitcast, Alu, CopyToDevice, Rop, Rtag, Index, Op };

  UOp read_method_call(UOp self, std::string_view name, size_t at) override {
    static constexpr std::string_view kNames[] = {"cast", "bitcast", "alu", "copy_to_device", "_rop", "rtag", "index"};
    static const NameTable kTable(kNames);
    int method = kTable.find(name);
    auto op = method < 0 ? op_of_method(name) : std::nullopt;
    // pyrender of this release does not print the method
    if (method < 0 && !op) return PyrenderReader::read_method_call(self, name, at);
    const bool was_in_tag = std::exchange(is_in_tag_, method == int(Method::Rtag));
    CallArguments args = read_arguments();
    is_in_tag_ = was_in_tag;
    UOp out;
    run_at_position(at, [&] {
      out = apply_method(self, method < 0 ? Method::Op : Method(method), op.value_or(Op::NOOP), args, at);
    });
    return out;
  }

  UOp apply_method(UOp self, Method method, Op op, const CallArguments& args, size_t at) {
    switch (method) {
      case Method::Cast: return make_cast(Op::CAST, self, args, at);
      case Method::Bitcast: return make_cast(Op::BITCAST, self, args, at);
      case Method::Alu: return make_alu_node(self, args, at);
      case Method::CopyToDevice: return make_copy(self, args, at);
      case Method::Rop: return make_reduction(self, args, at);
      case Method::Rtag:
        check_argument_count(args, 0, 1, "rtag", at);
        return self.rtag(args.empty() ? Arg(true) : as_arg(args[0].value));
      case Method::Index: return make_index(self, args);
      case Method::Op: break;
    }
    current_sources_.assign(1, self);
    return make_generic_node(op, args, at);
  }

  // From 0.14 on, the node's arg is its dtype.
  UOp make_cast(Op op, UOp self, const CallArguments& args, size_t at) {
    check_argument_count(args, 1, 1, name_of(op), at);
    DType d = as_dtype(args[0].value, args[0].offset);
    return graph_.node(op, d, self, is_0_13_ ? Arg() : Arg(d));
  }

  UOp make_alu_node(UOp self, const CallArguments& args, size_t at) {
    if (args.empty() || args[0].value.is_list || !args[0].value.arg.is_op()) throw_error(at, "alu() without an op");
    current_sources_.assign(1, self);
    for (size_t i = 1; i < args.size(); i++) current_sources_.push_back(as_uop(args[i].value, args[i].offset));
    Op op = args[0].value.arg.op();
    if (op == Op::OTHER) throw_error(args[0].offset, "alu() of an op that is not known");
    return graph_.node(op, dtype_of_op(op), current_sources_);
  }

  UOp make_copy(UOp self, const CallArguments& args, size_t at) {
    check_argument_count(args, 1, 1, "copy_to_device", at);
    if (is_0_13_) return graph_.node(Op::COPY, self.dtype(), {self, device_node(device_argument(args[0]))});
    return graph_.node(Op::COPY, self.dtype(), self, device_argument(args[0]));
  }

  // Reads x._rop(Ops.ADD, (0, 1)). 0.13 stores the axes in the arg, 0.14 their number, because it reduces the first
  // axes.
  UOp make_reduction(UOp self, const CallArguments& args, size_t at) {
    check_argument_count(args, 2, 2, "_rop", at);
    Arg op = as_arg(args[0].value), axes = as_arg(args[1].value);
    if (!axes.is_tuple() || axes.items().empty())
      throw_error(args[1].offset, "found " + axes.repr(), "the axes, as (0, 1)");
    if (is_0_13_) return graph_.node(Op::REDUCE, self.dtype(), self, graph_.tuple({op, axes}));
    for (size_t i = 0; i < axes.items().size(); i++)
      if (axes[i] != Arg(int64_t(i)))
        throw_error(args[1].offset, "a reduction of other axes than the first", "(0, 1, ...)");
    return graph_.node(Op::REDUCE, self.dtype(), self, graph_.tuple({op, Arg(int64_t(axes.items().size()))}));
  }

  UOp make_index(UOp self, const CallArguments& args) {
    check_keywords(args, {"dtype", "ptr", "arg"});
    const CallArgument *d = args.keyword("dtype"), *ptr = args.keyword("ptr"), *arg = args.keyword("arg");
    DType usual = is_0_13_ && !ptr ? self.dtype().base() : self.dtype();
    current_sources_.assign(1, self);
    for (const CallArgument& a : args)
      if (a.keyword.empty()) current_sources_.push_back(as_uop(a.value, a.offset));
    return graph_.node(Op::INDEX, d ? as_dtype(d->value, d->offset) : usual, current_sources_,
                       arg ? as_arg(arg->value) : Arg());
  }

  // The node's sources are current_sources_ and the positional arguments; its arg is the argument arg=.
  UOp make_generic_node(Op op, const CallArguments& args, size_t at) {
    Arg arg;
    const CallArgument* dtype = nullptr;
    for (const CallArgument& a : args) {
      if (a.keyword.empty()) current_sources_.push_back(as_uop(a.value, a.offset));
      else if (a.keyword == "arg") arg = as_arg(a.value);
      else if (a.keyword == "dtype") dtype = &a;
      else check_keywords(args, {"arg", "dtype"});
    }
    if (current_sources_.empty() && !kVoid.contains(op)) throw_error(at, std::string(name_of(op)) + " without sources");
    UOp out = graph_.node(op, dtype ? as_dtype(dtype->value, dtype->offset) : dtype_of_op(op), current_sources_, arg);
    // in 0.13, a REDUCE of a vector may make a shorter vector, so its uses decide the length
    if (op == Op::REDUCE && !dtype && is_0_13_ && current_sources_[0].dtype().count() > 1 && may_infer())
      infer_length_later(out);
    return out;
  }

  static std::optional<Op> op_of_method(std::string_view name) {
    static constexpr Op kOps[] = {Op::SINK,  Op::END,    Op::STORE,    Op::LOAD,       Op::UNIQUE,  Op::SQRT,
                                  Op::REDUCE, Op::AFTER, Op::THREEFRY, Op::WHERE,      Op::RECIPROCAL, Op::EXP2,
                                  Op::LOG2,  Op::SIN,    Op::CONTIGUOUS, Op::BARRIER,  Op::DETACH};
    static const auto kNames = [] {
      std::array<std::string_view, std::size(kOps)> out;
      std::ranges::transform(kOps, out.begin(), method_name);
      return out;
    }();
    static const NameTable kTable(kNames);
    const int i = kTable.find(name);
    return i < 0 ? std::nullopt : std::optional(kOps[i]);
  }

  // ---- the dtype of a node: in 0.14 as ops.py:dtype_from_uop returns it, in 0.13 as each method of UOp sets it

  DType dtype_of_op(Op op) {
    if (kVoid.contains(op) || current_sources_.empty()) return dtypes::void_;
    DType first = current_sources_[0].dtype(), last = current_sources_.back().dtype();
    if (op == Op::CMPLT || op == Op::CMPNE || op == Op::CMPEQ)
      return is_0_13_ && last.count() > 1 ? dtypes::bool_.vec(last.count()) : dtypes::bool_;
    if (op == Op::SHL || op == Op::SHR) return first;
    if (is_0_13_) {
      if (op == Op::LOAD) return loaded_dtype(current_sources_[0]);
      return (ops::ALU | kDivisions).contains(op) ? last : first;
    }
    if (kFloatFunctions.contains(op) && !is_float_of_any_release(first) && first != dtypes::bool_)
      return first == weakint() ? weakfloat() : promoted_dtype(first, dtypes::float32);
    if (op == Op::WHERE && current_sources_.size() == 3) return promoted_dtype(current_sources_[1].dtype(), last);
    if (current_sources_.size() == 2 && (ops::Binary | kDivisions).contains(op)) return promoted_dtype(first, last);
    return first;
  }

  Value apply_infix(const InfixOperator& op, const Value& left, size_t left_at, const Value& right,
                    size_t right_at) override {
    if (!left.is_uop() && !right.is_uop())
      return constant_arithmetic(op, as_const(left, left_at), as_const(right, right_at), left_at);
    if (op.negates_result || op.op == Op::SUB || op.op == Op::FDIV || op.op == Op::POW)
      throw_error(left_at, "an operator that pyrender of this release does not print",
                  "one of + * // % << >> < != & | ^");
    UOp a = left.is_uop() ? left.arg.uop() : constant_beside(right.arg.uop(), as_arg(left));
    UOp b = right.is_uop() ? right.arg.uop() : constant_beside(left.arg.uop(), as_arg(right));
    if (op.swaps_operands) std::swap(a, b);
    Op o = op.op == Op::IDIV ? Op::FLOORDIV : op.op == Op::MOD ? Op::FLOORMOD : op.op;
    current_sources_.assign({a, b});
    return {graph_.node(o, dtype_of_op(o), current_sources_)};
  }

  // Returns the constant for a bare number beside `u`. 0.13 prints constants on a device so: they are on u's device or,
  // if `u` has none and the text has no header, on the first device read so far.
  UOp constant_beside(UOp u, Arg number) {
    DType dtype = u.dtype().base();
    UOp c = graph_.node(Op::CONST, dtype, {}, const_arg(dtype, number));
    Arg device = device_of(u);
    if (device.is_none() && is_0_13_ && may_infer()) device = first_device_;
    return device.is_none() ? c : c.with_src(device_node(device));
  }

  // Returns the device of `root` as UOp.device of 0.13 computes it; None if there is none.
  Arg device_of(UOp root) {
    for (UOp u : toposort(root, [&](UOp u) { return !known_devices_.contains(u); }))
      if (!known_devices_.contains(u)) known_devices_[u] = compute_device(u);
    return *known_devices_.find(root);
  }
  Arg compute_device(UOp u) {
    if (u.is(Op::DEVICE)) return u.arg();
    auto of = [&](UOp s) { return *known_devices_.find(s); };
    if (u.is(Op::STAGE) && u.arg().is(RecordClass::Open)) {
      RecordView opts(u.arg());
      for (size_t i = 0; i < opts.size(); i++)
        if (opts.field(i) == "device") return opts.values()[i];
    }
    if (u.is(Op::MSELECT) && u.num_src() && of(u.src(0)).is_tuple() && u.arg().is_int()) {
      auto devices = of(u.src(0)).items();
      int64_t i = u.arg().small_int();
      return i >= 0 && size_t(i) < devices.size() ? devices[size_t(i)] : Arg();
    }
    if (u.is(Op::MSTACK)) {
      std::vector<Arg> devices;
      for (UOp s : u.src()) devices.push_back(of(s));
      return graph_.tuple(devices);
    }
    if ((u.is(Op::COPY) || u.is(Op::BUFFER) || u.is(Op::ALLREDUCE)) && u.num_src() > 1) return of(u.src(1));
    if (u.is(Op::AFTER) && u.num_src()) return of(u.src(0));
    for (UOp s : u.src())
      if (Arg device = of(s); !device.is_none()) return device;
    return {};
  }

  // ---- the repr of a UOp, of a Target, or of a register of a machine (`rdi`, `v3`)

  Value read_other_name(std::string_view name, size_t at) override {
    if (is_in_tag_ && !find_name(name)) return {graph_.raw_arg(name)};
    const bool is_target = std::ranges::all_of(name, [](char c) { return c >= 'A' && c <= 'Z'; });
    if (peek_char() != ':') return is_target ? Value{graph_.raw_arg(name)} : PyrenderReader::read_other_name(name, at);
    if (peek_char(1) == '=') {  // names the node at its first occurrence
      position_ += 2;
      Value v = read_item();
      define_name(name, as_uop(v, at));
      return v;
    }
    // the repr of a Target: CPU:CLANG:x86_64,native
    return {graph_.raw_arg(input_text_.substr(at, skip_to_closing_bracket(at) - at))};
  }
  // Moves to the ')' that closes the innermost parentheses around byte `at`, and returns its position.
  size_t skip_to_closing_bracket(size_t at) {
    int open = 0;
    for (position_ = at; !is_at_end() && peek_char() != '\n'; position_++) {
      if (peek_char() == '(') open++;
      else if (peek_char() == ')' && open-- == 0) return position_;
    }
    throw_error(at, "found " + found_text(at), "a value, up to a ')'");
  }

  const bool is_0_13_;
  UOpMap<Arg> known_devices_;
  Arg first_device_;
  bool is_in_tag_ = false;
};

// A set of releases: bit i stands for known_releases()[i].
using ReleaseSet = uint32_t;
ReleaseSet releases_where(auto has) {
  ReleaseSet out = 0;
  for (size_t i = 0; i < known_releases().size(); i++)
    if (known_releases()[i] >= Release::v0_12 && has(known_releases()[i])) out |= 1u << i;
  return out;
}
ReleaseSet all_releases() {
  static const ReleaseSet all = releases_where([](Release) { return true; });
  return all;
}

struct ReleaseWord {
  std::string_view qualifier, word;  // "UOp" and "variable" for UOp.variable; "" and "reshape" for x.reshape
  Release first_release, last_release;  // the releases that print the word; kNoLast: all later ones
};
constexpr Release k12 = Release::v0_12, k13 = Release::v0_13, kNoLast = Release::Other;
constexpr ReleaseWord kReleaseWords[] = {
    {"UOp", "unique_const", k12, k13}, {"UOp", "variable", k12, k13}, {"", "_rop", k13, kNoLast},
    {"", "r", k12, k12},               {"", "reshape", k12, k12},     {"", "expand", k12, k12},
    {"", "permute", k12, k12},         {"", "assign", k12, k12},      {"", "where", k12, k13},
};

ReleaseSet releases_with(std::string_view qualifier, std::string_view word, std::string_view after) {
  if (qualifier == "Ops") return releases_where([&](Release r) { return has_op(r, word); });
  if (qualifier == "dtypes" || qualifier == "AxisType" || qualifier == "AddrSpace") {
    const std::string name = std::string(qualifier).append(".").append(word);
    const ReleaseSet known = releases_where([&](Release r) { return has_name(r, name); });
    return known ? known : all_releases();
  }
  if (qualifier == "UOp" && word == "const") {
    const bool has_dtype_first = after.starts_with("(dtypes.");
    return releases_where([&](Release r) { return (r <= k13) == has_dtype_first; });
  }
  for (const ReleaseWord& w : kReleaseWords)
    if (w.word == word && (w.qualifier == qualifier || (w.qualifier.empty() && after.starts_with('('))))
      return releases_where(
          [&](Release r) { return w.first_release <= r && (w.last_release == kNoLast || r <= w.last_release); });
  return all_releases();
}

bool is_name_char(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

}  // namespace

std::unique_ptr<PyrenderReader> open_pyrender_reader(Graph& graph, std::string_view text, std::string_view file,
                                                     NodePlaces* places) {
  return std::make_unique<OpenPyrenderReader>(graph, text, file, places);
}

Release release_in_text(std::string_view text) {
  ReleaseSet may_be = all_releases();
  auto newest = [&] { return known_releases()[size_t(std::bit_width(may_be)) - 1]; };
  for (size_t dot = text.find('.'); dot != text.npos; dot = text.find('.', dot + 1)) {
    size_t begin = dot, end = dot + 1;
    while (begin > 0 && is_name_char(text[begin - 1])) begin--;
    while (end < text.size() && is_name_char(text[end])) end++;
    may_be &= releases_with(text.substr(begin, dot - begin), text.substr(dot + 1, end - dot - 1), text.substr(end));
    if (!may_be) return k12;
    if (std::has_single_bit(may_be)) return newest();
  }
  return may_be & releases_where([](Release r) { return r == k12; }) ? k12 : newest();
}

}  // namespace tgc
