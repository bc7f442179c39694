#include "lib/text/py_values.h"

#include <algorithm>
#include <limits>

#include "lib/support/settings.h"
#include "lib/text/parse_cache.h"
#include "lib/text/pyrender.h"
#include "lib/text/repr.h"
#include "lib/uop/wellformed.h"

namespace tgc {

void PyValueReader::throw_wrong_type(const Value& v, size_t at, const char* expected) {
  throw_error(at, "found " + describe_value(v), expected);
}

std::string PyValueReader::describe_value(const Value& v) const {
  if (v.is_list || v.arg.is_tuple()) return "a tuple";
  std::string text = v.arg.repr();
  return text.size() > 60 ? text.substr(0, 57) + "..." : text;
}

void PyValueReader::append_uops(std::vector<UOp>& out, const Value& v, size_t at) {
  if (!v.is_list && !v.arg.is_tuple()) throw_wrong_type(v, at, "a tuple of UOps");
  for (Arg a : list_items_of(v)) {
    if (!a.is_uop()) throw_error(at, "found " + a.repr() + " in a list of sources", "a UOp");
    out.push_back(a.uop());
  }
}

UOp PyValueReader::make_node(size_t at, Op op, DType dtype, std::span<const UOp> src, Arg arg, Arg tag) {
  if (!is_foreign() && !has_structure(op, src, arg)) throw_error(at, structure_error(op, src, arg));
  return graph_.node(op, dtype, src, arg, tag);
}

PyValueReader::Value PyValueReader::value() {
  skip_blanks_in_line();
  if (peek_char() != '-' && peek_char() != '+') return read_primary();
  NestingLevel nested(*this);
  bool negative = peek_char() == '-';
  size_t at = position_++;
  Value v = read_with_nesting([&] { return value(); });
  Const c = as_const(v, at);
  return negative ? Value{Arg(py_neg(c))} : v;
}

PyValueReader::Value PyValueReader::read_primary() {
  skip_blanks_in_line();
  size_t at = position_;
  char c = peek_char();
  if (c == '(') return read_list();
  if (is_digit(c) || (c == '.' && is_digit(peek_char(1)))) return {Arg(number())};
  if (c == '\'' || c == '"') return {graph_.str(string())};
  if (c == 'b' && (peek_char(1) == '\'' || peek_char(1) == '"')) {
    position_++;
    return {graph_.bytes(string(PyLiteral::Bytes))};
  }
  if (!is_name_start(c)) throw_error(at, "found " + found_text(at), "an expression");
  return read_named_value(read_identifier("a name"), at);
}

uint16_t PyValueReader::next_depth(uint16_t inner, size_t at) const {
  if (inner >= kMaxArgDepth) throw_error(at, "tuples nested more than " + std::to_string(kMaxArgDepth) + " deep");
  return uint16_t(inner + 1);
}

PyValueReader::Value PyValueReader::read_list() {
  NestingLevel nested(*this);
  size_t at = position_++;
  open_brackets_++;
  if (accept_char(')')) return open_brackets_--, Value{{}, true, 1, uint32_t(list_items_.size()), 0};
  Value first = read_item();
  skip_blanks_in_line();
  if (peek_char() != ',') {
    if (peek_char() != ')')
      throw_error(position_, "found " + found_text(position_), "')' for the '(' of " + position_text(at));
    position_++;
    open_brackets_--;
    return first;
  }
  size_t base = item_stack_.size();
  uint16_t inner = first.nesting_depth;
  item_stack_.push_back(as_arg(first));
  while (accept_char(',')) {
    skip_blanks_in_line();
    if (peek_char() == ')') break;
    Value next = read_item();
    inner = std::max(inner, next.nesting_depth);
    item_stack_.push_back(as_arg(next));
  }
  skip_blanks_in_line();
  if (peek_char() != ')')
    throw_error(position_, "found " + found_text(position_), "',' or ')' for the '(' of " + position_text(at));
  position_++;
  open_brackets_--;
  Value list{{}, true, next_depth(inner, at), uint32_t(list_items_.size()), uint32_t(item_stack_.size() - base)};
  list_items_.insert(list_items_.end(), item_stack_.begin() + ptrdiff_t(base), item_stack_.end());
  item_stack_.resize(base);
  return list;
}

PyValueReader::CallArguments PyValueReader::read_arguments() {
  expect_char('(', "and arguments");
  NestingLevel nested(*this);
  size_t open = position_ - 1, base = argument_stack_.size();
  open_brackets_++;
  for (;;) {
    skip_blanks_in_line();
    if (peek_char() == ')') break;
    size_t at = position_;
    std::string_view keyword;
    Value v;
    if (!read_item_quickly(v)) {
      if (is_name_start(peek_char())) {
        size_t p = name_end(position_), q = p;
        while (char_at(q) == ' ') q++;
        if (char_at(q) == '=' && char_at(q + 1) != '=') {
          keyword = input_text_.substr(position_, p - position_);
          position_ = q + 1;
          at = (skip_blanks_in_line(), position_);
        }
      }
      v = keyword.empty() ? read_with_nesting([&] { return read_expression(); }) : read_item();
    }
    if (keyword.empty() && argument_stack_.size() > base && !argument_stack_.back().keyword.empty())
      throw_error(at, "a positional argument after keyword arguments");
    argument_stack_.push_back({keyword, v, at});
    if (!accept_char(',')) break;
  }
  skip_blanks_in_line();
  if (peek_char() != ')')
    throw_error(position_, "found " + found_text(position_), "',' or ')' for the '(' of " + position_text(open));
  position_++;
  open_brackets_--;
  return CallArguments(*this, base);
}

const PyValueReader::CallArgument* PyValueReader::CallArguments::keyword(std::string_view name) const {
  for (const CallArgument& a : *this)
    if (a.keyword == name) return &a;
  return nullptr;
}

const PyValueReader::CallArgument* PyValueReader::CallArguments::find(size_t position, std::string_view name) const {
  if (position < size() && (*this)[position].keyword.empty()) return &(*this)[position];
  return keyword(name);
}

void PyValueReader::check_keywords(const CallArguments& args, std::initializer_list<std::string_view> allowed) const {
  for (const CallArgument& a : args)
    if (!a.keyword.empty() && std::find(allowed.begin(), allowed.end(), a.keyword) == allowed.end())
      throw_error(a.offset, "unknown keyword argument '" + std::string(a.keyword) + "'");
}

std::string_view PyValueReader::read_attribute(const char* what) {
  expect_char('.', what);
  return read_identifier(what);
}

PyValueReader::Value PyValueReader::read_other_name(std::string_view name, size_t at) {
  throw_error(at, "unknown name '" + std::string(name) + "'", "a value");
}

namespace {
std::optional<AddrSpace> parse_addrspace(std::string_view word) {
  for (AddrSpace s : {AddrSpace::GLOBAL, AddrSpace::LOCAL, AddrSpace::REG})
    if (name_of(s) == word) return s;
  return std::nullopt;
}

const char* expected_opt_ops() {
  static const std::string text = [] {
    std::string out = "an optimization";
    for (int i = 0; i < kNumOptOps; i++) out += (i ? ", " : ": ") + std::string(name_of(OptOps(i)));
    return out;
  }();
  return text.c_str();
}
}  // namespace

PyValueReader::Value PyValueReader::read_named_value(std::string_view name, size_t at) {
  auto enumerated = [&](auto parse, const char* what) -> Value {
    size_t word_at = position_ + 1;
    std::string_view word = read_attribute(what);
    auto value = parse(word);
    if (!value && is_foreign()) return {graph_.raw_arg(std::string(name) + "." + std::string(word))};
    if (!value) throw_error(word_at, "unknown name '" + std::string(word) + "'", what);
    return {Arg(*value)};
  };
  switch (name.size()) {
    case 3:
      if (name == "UOp") return read_other_name(name, at);
      if (name == "Ops") return is_foreign() ? enumerated(parse_op, "an op") : Value{Arg(read_op_name())};
      if (name == "inf") return {Arg(std::numeric_limits<double>::infinity())};
      if (name == "nan") return {Arg(std::numeric_limits<double>::quiet_NaN())};
      if (name == "Opt" && !is_foreign()) return record(RecordClass::Opt, at);
      break;
    case 4:
      if (name == "True") return {Arg(true)};
      if (name == "None") return {Arg()};
      break;
    case 5:
      if (name == "False") return {Arg(false)};
      break;
    case 6:
      if (name == "dtypes") return {Arg(dtype())};
      if (name == "OptOps") return enumerated(parse_opt_op, expected_opt_ops());
      if (name == "Kernel" && !is_foreign()) return record(RecordClass::Kernel, at);
      break;
    case 7:
      if (name == "Invalid") return {Arg(Const::invalid())};
      break;
    case 8:
      if (name == "AxisType") return enumerated(parse_axis_type, "an axis type");
      break;
    case 9:
      if (name == "AddrSpace")
        return is_foreign() ? enumerated(parse_addrspace, "an address space") : Value{addrspace()};
      break;
    default: break;
  }
  if (name == "CustomKernel") {  // the argument is a Python function, which tinygrad prints as `panic`
    expect_char('(', "(panic)");
    if (read_identifier("panic") != "panic")
      throw_error(at, "found a CustomKernel of something", "CustomKernel(panic)");
    expect_char(')', "')'");
    return {graph_.raw_arg("CustomKernel(panic)")};
  }
  if (is_foreign() && name[0] >= 'A' && name[0] <= 'Z') {
    if (peek_char() == '(') return read_open_record(name, at);
    if (peek_char() == '.') return {graph_.raw_arg(std::string(name) + "." + std::string(read_attribute("a name")))};
  }
  if (name[0] >= 'A' && name[0] <= 'Z')
    if (auto c = parse_record_class(name)) return record(*c, at);
  return read_other_name(name, at);
}

Op PyValueReader::read_op_name() {
  size_t word_at = position_ + 1;
  std::string_view word = read_attribute("an op's name");
  if (auto op = parse_op(word)) return *op;
  if (is_foreign()) return Op::OTHER;
  std::vector<std::string_view> names;
  for (int i = 0; i < kNumOps; i++) names.push_back(name_of(Op(i)));
  std::string near = nearest_names_text(word, names);
  throw_error(word_at, "unknown op '" + std::string(word) + "'", near.empty() ? "an op of tinygrad 0.12.0" : near);
}

Arg PyValueReader::addrspace() {
  size_t at = position_ + 1;
  std::string_view word = read_attribute("an address space");
  if (auto s = parse_addrspace(word)) return *s;
  throw_error(at, "unknown address space '" + std::string(word) + "'", "GLOBAL, LOCAL or REG");
}

PyValueReader::StatedFactsByNumber PyValueReader::read_stated_facts() {
  StatedFactsByNumber out;
  for (;;) {
    while (peek_char() == ' ' || peek_char() == '\n') position_++;
    if (peek_char() != '#') return out;
    size_t end = std::min(input_text_.find('\n', position_), input_text_.size());
    constexpr std::string_view kLost = "# UOp ";
    if (input_text_.substr(position_, kLost.size()) == kLost && is_digit(char_at(position_ + kLost.size()))) {
      position_ += kLost.size();
      size_t at = position_;
      Const node = number();
      if (!node.is_int() || !node.as_int().is_small()) throw_error(at, "found " + node.str(), "the number of a UOp");
      expect_char(':', "after the number of the UOp");
      at = (skip_blanks_in_line(), position_);
      StatedFacts& stated = out[size_t(node.as_int().small_value())];
      stated.dtype = as_dtype(value(), at);
      while (accept_char(',')) {
        at = (skip_blanks_in_line(), position_);
        std::string_view key = read_identifier("'src=' or 'tag='");
        if (key != "src" && key != "tag")
          throw_error(at, "unknown keyword '" + std::string(key) + "'", "'src' or 'tag'");
        expect_char('=', "after the keyword");
        (key == "src" ? stated.src : stated.stated_tag) = as_arg(value());
      }
      if (position_ != end) throw_error(position_, "unexpected " + found_text(position_), "the end of the line");
    }
    position_ = end;
  }
}

namespace {
class ValueReader : public PyValueReader {
 public:
  using PyValueReader::PyValueReader;
  Arg read() {
    Arg a = as_arg(value());
    skip_blanks_in_line();
    if (!is_at_end()) throw_error(position_, "unexpected " + found_text(position_), "the end of the value");
    return a;
  }
};
}  // namespace

Arg read_value(Graph& graph, std::string_view text) { return ValueReader(graph, text, {}).read(); }

std::string complete_repr(DType d) {
  std::string text(d.repr());
  if (d.is_image() && d.info()->pitch != -1) text.insert(text.find("))") + 1, ", " + std::to_string(d.info()->pitch));
  return text;
}

DType PyValueReader::dtype() {
  static constinit thread_local ParseCache<DType> known_dtypes;
  size_t begin = position_, end = position_;
  while (is_name_char(char_at(end)) || char_at(end) == '.' || char_at(end) == '(')
    end = char_at(end) == '(' ? std::min(input_text_.find(')', end), input_text_.size() - 1) + 1 : end + 1;
  std::string_view piece = input_text_.substr(begin, end - begin);
  // the cache has dtypes of all releases, so do not use one that 0.12.0 lacks for a text of 0.12.0
  if (const DType* known = known_dtypes.find_value(piece);
      known && (is_foreign() || known->scalar_kind() != Scalar::Other))
    return position_ = end, *known;
  DType d = read_dtype_slowly(begin);
  if (position_ == end) known_dtypes.store_value(piece, d);
  return d;
}

DType PyValueReader::read_dtype_slowly(size_t at) {
  size_t name_at = at + 1;
  std::string_view name = read_attribute("a dtype's name");
  DType d;
  if (name == "imageh" || name == "imagef") {
    size_t args_at = position_;
    CallArguments args = read_arguments();
    std::vector<int64_t> shape;
    if (args.empty()) throw_error(args_at, "an image dtype without a shape");
    if (Arg sizes = as_arg(args[0].value); sizes.is_tuple())
      for (Arg a : sizes.items()) shape.push_back(a.is_int() ? a.small_int() : -1);
    if (shape.size() != 3 || std::any_of(shape.begin(), shape.end(), [](int64_t v) { return v < 1 || v > 1 << 20; }))
      throw_error(args_at, "an image dtype with the shape " + as_arg(args[0].value).repr(), "three sizes");
    int64_t pitch = args.size() > 1 ? as_int(args[1].value, args[1].offset) : -1;
    d = name == "imageh" ? dtypes::imageh(shape, pitch) : dtypes::imagef(shape, pitch);
  } else {
    auto known = dtypes::parse(name);
    if (!known && is_foreign()) known = dtypes::parse_any_release(name);
    if (!known) {
      std::string near = nearest_names_text(name, dtypes::attribute_names());
      throw_error(name_at, "unknown dtype '" + std::string(name) + "'",
                  near.empty() ? "a dtype of tinygrad 0.12.0" : near);
    }
    d = *known;
  }
  while (peek_char() == '.') {
    size_t method_at = ++position_;
    std::string_view method = read_identifier("'vec' or 'ptr'");
    CallArguments args = read_arguments();
    if (method == "vec") {
      if (args.size() != 1) throw_error(method_at, "vec() with " + std::to_string(args.size()) + " arguments", "one");
      int64_t n = as_int(args[0].value, args[0].offset);
      run_at_position(method_at, [&] { d = d.vec(n); });
    } else if (method == "ptr") {
      int64_t size = -1;
      AddrSpace space = AddrSpace::GLOBAL;
      for (size_t i = 0; i < args.size(); i++) {
        const CallArgument& a = args[i];
        bool is_size = a.keyword.empty() ? i == 0 : a.keyword == "size";
        if (is_size) size = as_int(a.value, a.offset);
        else if (!a.value.is_list && a.value.arg.kind() == Arg::Kind::AddrSpace) space = a.value.arg.addrspace();
        else throw_wrong_type(a.value, a.offset, "an address space");
      }
      run_at_position(method_at, [&] { d = d.ptr(size, space); });
    } else if (method == "scalar") {
      d = d.scalar();
    } else {
      throw_error(method_at, "a dtype has no method '" + std::string(method) + "'", "vec or ptr");
    }
  }
  return d;
}

PyValueReader::Value PyValueReader::record(RecordClass c, size_t at) {
  CallArguments args = read_arguments();
  auto fields = fields_of(c);
  std::vector<Arg> values(fields.size());
  uint16_t inner = 0;
  for (const CallArgument& a : args) inner = std::max(inner, a.value.nesting_depth);
  if (c == RecordClass::KernelInfo) values = {graph_.str("test"), graph_.tuple({}), false, graph_.tuple({}), Arg()};
  if (c == RecordClass::BufferizeOpts) values = {Arg(), AddrSpace::GLOBAL, true};
  if (c == RecordClass::Kernel) values[1] = graph_.tuple({});
  if (c == RecordClass::Metadata) values[2] = false;
  for (size_t i = 0; i < args.size(); i++) {
    const CallArgument& a = args[i];
    Arg value = as_arg(a.value);
    if (c == RecordClass::Kernel && a.keyword == "grad_fxn" && value.is_none()) continue;
    size_t field = a.keyword.empty() ? i : size_t(std::find(fields.begin(), fields.end(), a.keyword) - fields.begin());
    if (field >= fields.size()) throw_error(a.offset, std::string(name_of(c)) + " has no such argument");
    values[field] = value;
  }
  if (c == RecordClass::Kernel && !values[0].is_uop()) throw_error(at, "a Kernel without an ast", "Kernel(k0(), ())");
  if (!is_valid_record(c, values)) throw_error(at, "a " + std::string(name_of(c)) + " with arguments of wrong types");
  return {.arg = graph_.record(c, values), .nesting_depth = next_depth(inner, at)};
}

PyValueReader::Value PyValueReader::read_open_record(std::string_view name, size_t at) {
  CallArguments args = read_arguments();
  if (name == "ConstFloat" && args.size() == 1) return {const_float(graph_, as_arg(args[0].value))};
  std::vector<Arg> items{graph_.str(name), Arg()}, fields;
  uint16_t inner = 0;
  for (const CallArgument& a : args) {
    inner = std::max(inner, a.value.nesting_depth);
    fields.push_back(graph_.str(a.keyword));
    items.push_back(as_arg(a.value));
  }
  items[1] = graph_.tuple(fields);
  return {.arg = graph_.record(RecordClass::Open, items), .nesting_depth = next_depth(inner, at)};
}

namespace {
class OptsReader : public PyValueReader {
 public:
  using PyValueReader::PyValueReader;
  std::vector<Arg> read() {
    skip_blanks_in_line();
    char close = peek_char() == '[' ? ']' : ')';
    if (peek_char() != '[' && peek_char() != '(')
      throw_error(position_, "found " + found_text(position_), "a list such as [Opt(OptOps.UPCAST, 0, 4)]");
    position_++;
    open_brackets_++;
    std::vector<Arg> out;
    while (skip_blanks_in_line(), peek_char() != close) {
      size_t at = position_;
      Arg a = as_arg(value());
      if (!a.is(RecordClass::Opt)) throw_error(at, "found " + a.repr(), "Opt(OptOps.NAME, axis, arg)");
      out.push_back(a);
      if (!accept_char(',') && (skip_blanks_in_line(), peek_char() != close))
        throw_error(position_, "found " + found_text(position_), std::string("',' or '") + close + "'");
    }
    position_++;
    skip_blanks_in_line();
    if (!is_at_end()) throw_error(position_, "unexpected " + found_text(position_), "the end of the list");
    return out;
  }
};
}  // namespace

Result<std::vector<Arg>> read_opts(Graph& graph, std::string_view text, std::string_view file) {
  return catch_failures([&] { return OptsReader(graph, text, file).read(); });
}

}  // namespace tgc
