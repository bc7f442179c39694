// The reader of pyrender text: a precedence parser of Python expressions that builds nodes as it goes.
#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <unordered_map>

#include "lib/support/pytext.h"
#include "lib/text/pyrender.h"
#include "lib/text/restore.h"
#include "lib/text/source_position.h"
#include "lib/uop/exec_alu.h"
#include "lib/uop/facts.h"
#include "lib/uop/movement.h"

namespace tgc {
namespace {

constexpr int kMaxDepth = 2000;  // of nested brackets; Python itself stops at 200

enum class Method : uint8_t {
  After, Alu, Assign, Barrier, Bitcast, Broadcast, Cast, Contiguous, CopyToDevice, Detach, Encdec, End, Eq, Expand, Exp2, Flip, ForcedReshape,
  Gep, Index, Load, Log2, LogicalNot, Maximum, Minimum, Ne, Pad, Permute, Pow, R, Reciprocal, Reduce, Replace, Reshape, Rtag, Shrink, Sin,
  Sink, Sqrt, Store, Threefry, Trunc, Where,
};
struct MethodName {
  std::string_view name;
  Method method;
};
constexpr MethodName kMethods[] = {  // sorted by name
    {"after", Method::After}, {"alu", Method::Alu}, {"assign", Method::Assign}, {"barrier", Method::Barrier}, {"bitcast", Method::Bitcast},
    {"broadcast", Method::Broadcast}, {"cast", Method::Cast}, {"contiguous", Method::Contiguous}, {"copy_to_device", Method::CopyToDevice},
    {"detach", Method::Detach}, {"encdec", Method::Encdec}, {"end", Method::End}, {"eq", Method::Eq}, {"exp2", Method::Exp2},
    {"expand", Method::Expand}, {"flip", Method::Flip}, {"forced_reshape", Method::ForcedReshape}, {"gep", Method::Gep},
    {"index", Method::Index}, {"load", Method::Load}, {"log2", Method::Log2}, {"logical_not", Method::LogicalNot},
    {"maximum", Method::Maximum}, {"minimum", Method::Minimum}, {"ne", Method::Ne}, {"pad", Method::Pad}, {"permute", Method::Permute},
    {"pow", Method::Pow}, {"r", Method::R}, {"reciprocal", Method::Reciprocal}, {"reduce", Method::Reduce}, {"replace", Method::Replace},
    {"reshape", Method::Reshape}, {"rtag", Method::Rtag}, {"shrink", Method::Shrink}, {"sin", Method::Sin}, {"sink", Method::Sink},
    {"sqrt", Method::Sqrt}, {"store", Method::Store}, {"threefry", Method::Threefry}, {"trunc", Method::Trunc}, {"where", Method::Where},
};
static_assert(std::is_sorted(std::begin(kMethods), std::end(kMethods), [](auto& a, auto& b) { return a.name < b.name; }));

bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name(char c) { return is_name_start(c) || is_digit(c); }

// An evaluated expression: a value, or a bracketed list not yet made a tuple (so that source lists need no interning).
struct Value {
  Arg arg;
  bool is_list = false;
  uint32_t first = 0, count = 0;  // of a list: into the reader's list pool
};

struct Argument {
  std::string_view keyword;  // empty: positional
  Value value;
  size_t at;
};

class Reader {
 public:
  Reader(Graph& graph, std::string_view text, std::string_view file) : graph_(graph), text_(text), file_(file) {}

  UOp read() {
    UOp ast, last;
    for (;;) {
      skip_blank_lines();
      if (pos_ == text_.size()) break;
      size_t at = pos_;
      std::string_view name = identifier("a statement");
      if (name == "def") {
        function();
        continue;
      }
      last = assignment(name, at);
      if (name == "ast") ast = last;
      end_of_line();
    }
    if (!ast) ast = last;
    if (!ast) fail(pos_, "the input holds no graph", "an assignment such as 'ast = c5.sink()'");
    return stand_ins_ || unique_constants_ ? restore_constants(ast) : ast;
  }

 private:
  // ---- errors
  [[noreturn]] void fail(size_t at, std::string message, std::string expected = {}) {
    throw Failure(diag_at(text_, at, file_, std::move(message), std::move(expected)));
  }
  std::string found(size_t at) { return found_at(text_, at); }

  // ---- characters
  char peek() const { return pos_ < text_.size() ? text_[pos_] : '\0'; }
  char peek(size_t k) const { return pos_ + k < text_.size() ? text_[pos_ + k] : '\0'; }

  // Blanks; inside brackets line ends too.
  void skip() {
    for (;;) {
      char c = peek();
      if (c == ' ' || c == '\t' || c == '\r' || (c == '\f')) pos_++;
      else if (c == '\n' && brackets_ > 0) pos_++;
      else if (c == '\\' && peek(1) == '\n') pos_ += 2;
      else if (c == '#') pos_ = std::min(text_.find('\n', pos_), text_.size());
      else return;
    }
  }
  void skip_blank_lines() {
    brackets_++;
    skip();
    brackets_--;
  }
  void end_of_line() {
    skip();
    if (peek() == ';') pos_++;
    else if (pos_ < text_.size() && peek() != '\n') fail(pos_, "unexpected " + found(pos_), "the end of the line");
  }
  bool take(char c) {
    skip();
    if (peek() != c) return false;
    pos_++;
    return true;
  }
  void expect(char c, const char* what) {
    skip();
    if (peek() != c) fail(pos_, "found " + found(pos_), std::string("'") + c + "' " + what);
    pos_++;
  }
  std::string_view identifier(const char* what) {
    skip();
    size_t begin = pos_;
    if (!is_name_start(peek())) fail(pos_, "found " + found(pos_), what);
    while (is_name(peek())) pos_++;
    return text_.substr(begin, pos_ - begin);
  }

  // ---- statements
  UOp assignment(std::string_view name, size_t at) {
    skip();
    if (peek() != '=' || peek(1) == '=') fail(pos_, "found " + found(pos_) + " after the name '" + std::string(name) + "'", "'='");
    pos_++;
    lists_.clear();
    size_t value_at = (skip(), pos_);
    Value v = expression(0);
    UOp u = as_uop(v, value_at);
    if (is_reserved(name)) fail(at, "'" + std::string(name) + "' cannot be assigned to");
    names_[name] = u;
    return u;
  }

  static bool is_reserved(std::string_view name) {
    return name == "UOp" || name == "dtypes" || name == "Ops" || name == "AxisType" || name == "True" || name == "False" || name == "None";
  }

  // def k0():\n  ...\n  return ast
  void function() {
    if (in_function_) fail(pos_, "a function inside a function");
    std::string_view name = identifier("a function's name");
    expect('(', "after the function's name");
    expect(')', "(kernels take no parameters)");
    expect(':', "after the parameters");
    in_function_ = true;
    auto outer = std::move(names_);
    names_.clear();
    UOp result;
    while (!result) {
      skip_blank_lines();
      if (pos_ == text_.size()) fail(pos_, "the input ends in the function '" + std::string(name) + "'", "'return'");
      size_t at = pos_;
      std::string_view word = identifier("a statement");
      if (word == "return") {
        size_t value_at = (skip(), pos_);
        result = as_uop(expression(0), value_at);
      } else {
        assignment(word, at);
      }
      end_of_line();
    }
    names_ = std::move(outer);
    in_function_ = false;
    kernels_[name] = result;
  }

  // ---- values
  UOp as_uop(const Value& v, size_t at) {
    if (v.is_list || !v.arg.is_uop()) fail(at, "found " + describe_value(v), "a UOp");
    return v.arg.uop();
  }
  Arg as_arg(const Value& v) {
    if (!v.is_list) return v.arg;
    return graph_.tuple(std::span(lists_).subspan(v.first, v.count));
  }
  DType as_dtype(const Value& v, size_t at) {
    if (v.is_list || v.arg.kind() != Arg::Kind::DType) fail(at, "found " + describe_value(v), "a dtype");
    return v.arg.dtype();
  }
  Const as_const(const Value& v, size_t at) {
    if (v.is_list || !v.arg.is_const()) fail(at, "found " + describe_value(v), "a number");
    return v.arg.to_const();
  }
  int64_t as_int(const Value& v, size_t at) {
    if (v.is_list || !v.arg.is_int() || !v.arg.as_int().is_small()) fail(at, "found " + describe_value(v), "an integer of at most 64 bits");
    return v.arg.small_int();
  }
  std::vector<UOp> as_uops(const Value& v, size_t at) {
    std::vector<UOp> out;
    if (!v.is_list && !v.arg.is_tuple()) fail(at, "found " + describe_value(v), "a tuple of UOps");
    for (Arg a : v.is_list ? std::span<const Arg>(lists_).subspan(v.first, v.count) : v.arg.items()) {
      if (!a.is_uop()) fail(at, "found " + a.repr() + " in a list of sources", "a UOp");
      out.push_back(a.uop());
    }
    return out;
  }
  std::string describe_value(const Value& v) {
    if (v.is_list || v.arg.is_tuple()) return "a tuple";
    std::string text = v.arg.repr();
    return text.size() > 60 ? text.substr(0, 57) + "..." : text;
  }

  // ---- operators, by Python's precedence
  struct Infix {
    Op op;
    int precedence;  // higher binds tighter
    int length;
    bool true_division = false;
    bool negate = false;  // of comparisons: a >= b is !(a < b)
    bool swap = false;
  };
  bool infix(Infix& out) {
    char c = peek(), d = peek(1);
    switch (c) {
      case '<':
        if (d == '<') return out = {Op::SHL, 5, 2}, true;
        if (d == '=') return out = {Op::CMPLT, 1, 2, false, true, true}, true;
        return out = {Op::CMPLT, 1, 1}, true;
      case '>':
        if (d == '>') return out = {Op::SHR, 5, 2}, true;
        if (d == '=') return out = {Op::CMPLT, 1, 2, false, true, false}, true;
        return out = {Op::CMPLT, 1, 1, false, false, true}, true;
      case '!': return d == '=' ? (out = {Op::CMPNE, 1, 2}, true) : false;
      case '|': return out = {Op::OR, 2, 1}, true;
      case '^': return out = {Op::XOR, 3, 1}, true;
      case '&': return out = {Op::AND, 4, 1}, true;
      case '+': return out = {Op::ADD, 6, 1}, true;
      case '-': return out = {Op::SUB, 6, 1}, true;
      case '*': return d == '*' ? (out = {Op::POW, 9, 2}, true) : (out = {Op::MUL, 7, 1}, true);
      case '/': return d == '/' ? (out = {Op::IDIV, 7, 2}, true) : (out = {Op::FDIV, 7, 1, true}, true);
      case '%': return out = {Op::MOD, 7, 1}, true;
      default: return false;
    }
  }

  Value expression(int min_precedence) {
    if (++depth_ > kMaxDepth) fail(pos_, "brackets are nested more than " + std::to_string(kMaxDepth) + " deep");
    size_t left_at = (skip(), pos_);
    Value left = unary();
    bool compared = false;
    for (;;) {
      skip();
      Infix op;
      size_t at = pos_;
      if (!infix(op) || op.precedence < min_precedence) break;
      if (op.precedence == 1) {
        if (compared) fail(at, "a chain of comparisons", "brackets");
        compared = true;
      }
      pos_ += size_t(op.length);
      size_t right_at = (skip(), pos_);
      Value right = expression(op.op == Op::POW ? 8 : op.precedence + 1);
      left = apply(op, left, left_at, right, right_at);
    }
    depth_--;
    return left;
  }

  Value apply(const Infix& op, const Value& left, size_t left_at, const Value& right, size_t right_at) {
    bool left_uop = !left.is_list && left.arg.is_uop(), right_uop = !right.is_list && right.arg.is_uop();
    if (!left_uop && !right_uop) return constant_arithmetic(op, as_const(left, left_at), as_const(right, right_at), left_at);
    if (left_uop != right_uop) return apply_beside_literal(op, left, left_at, right, right_at);
    return combine(op, left.arg.uop(), right.arg.uop());
  }

  Value apply_beside_literal(const Infix& op, const Value& left, size_t left_at, const Value& right, size_t right_at) {
    bool left_uop = !left.is_list && left.arg.is_uop();
    UOp u = left_uop ? left.arg.uop() : right.arg.uop();
    Const number = left_uop ? as_const(right, right_at) : as_const(left, left_at);
    if (left_uop && op.op == Op::SUB) return {u + u.const_like(py_neg(number))};
    if (u.is_const() && u.num_src() == 0 && !in_function_) u = local_unique_constant(u, unique_constants_++);  // else it would have been folded
    UOp c = literal_beside(u, number);
    return left_uop ? combine(op, u, c) : combine(op, c, u);
  }

  Value combine(const Infix& op, UOp a, UOp b) {
    if (op.swap) std::swap(a, b);
    UOp out = op.true_division ? fdiv(a, b) : op.op == Op::SUB ? a - b : a.alu(op.op, b);
    return {op.negate ? out.logical_not() : out};
  }

  // The constant that a bare number beside `u` stands for. tinygrad prints bare numbers for constants on a device.
  UOp literal_beside(UOp u, Const value) {
    bool known = !device_of(u).is_none() && !is_stand_in(u);
    if (in_function_ || known) return u.const_like(value);
    stand_ins_ = true;
    return constant_on_some_device(graph_.constant(u.dtype(), value));
  }

  Value constant_arithmetic(const Infix& op, Const a, Const b, size_t at) {
    switch (op.op) {
      case Op::ADD: return {Arg(py_add(a, b))};
      case Op::SUB: return {Arg(py_sub(a, b))};
      case Op::MUL: return {Arg(py_mul(a, b))};
      case Op::FDIV:
        if (b.to_double() == 0) fail(at, "a division by zero");
        return {Arg(a.to_double() / b.to_double())};
      case Op::IDIV:
        if (a.is_integral() && b.is_integral()) return {Arg(floor_div(a.as_int(), b.as_int()))};
        break;
      case Op::POW:
        if (a.is_integral() && b.is_integral() && b.as_int() >= 0 && b.as_int() < 4096) return {Arg(pow(a.as_int(), uint32_t(b.as_int().small())))};
        break;
      default: break;
    }
    fail(at, "this operation on constants is not supported");
  }

  Value unary() {
    skip();
    if (peek() == '-' || peek() == '+') {
      bool negative = peek() == '-';
      size_t at = pos_++;
      if (++depth_ > kMaxDepth) fail(at, "brackets are nested more than " + std::to_string(kMaxDepth) + " deep");
      Value v = expression(8);
      depth_--;
      if (!negative) return v;
      if (!v.is_list && v.arg.is_uop()) return {-v.arg.uop()};
      return {Arg(py_neg(as_const(v, at)))};
    }
    return postfix(primary());
  }

  // ---- primaries
  Value primary() {
    skip();
    size_t at = pos_;
    char c = peek();
    if (c == '(') return bracketed();
    if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return number();
    if (c == '\'' || c == '"') return {graph_.str(string())};
    if (c == 'b' && (peek(1) == '\'' || peek(1) == '"')) return pos_++, Value{graph_.bytes(string())};
    if (!is_name_start(c)) fail(at, "found " + found(at), "an expression");
    std::string_view name = identifier("a name");
    if (auto it = names_.find(name); it != names_.end()) return {it->second};
    return named(name, at);
  }

  Value bracketed() {
    size_t at = pos_++;
    brackets_++;
    skip();
    if (take(')')) return brackets_--, Value{{}, true, uint32_t(lists_.size()), 0};
    Value first = expression(0);
    skip();
    if (peek() != ',') {
      if (peek() != ')') fail(pos_, "found " + found(pos_), "')' for the '(' of " + where(at));
      pos_++;
      brackets_--;
      return first;
    }
    std::vector<Arg> items{as_arg(first)};
    while (take(',')) {
      skip();
      if (peek() == ')') break;
      items.push_back(as_arg(expression(0)));
    }
    skip();
    if (peek() != ')') fail(pos_, "found " + found(pos_), "',' or ')' for the '(' of " + where(at));
    pos_++;
    brackets_--;
    Value list{{}, true, uint32_t(lists_.size()), uint32_t(items.size())};
    lists_.insert(lists_.end(), items.begin(), items.end());
    return list;
  }

  std::string where(size_t at) {
    Diag d = diag_at(text_, at, {}, {}, {});
    return "line " + std::to_string(d.line) + ", column " + std::to_string(d.column);
  }

  Value number() {
    size_t begin = pos_;
    bool is_float = false;
    if (peek() == '0' && (peek(1) | 32) >= 'b' && (peek(1) | 32) <= 'x' && is_name_start(peek(1))) {
      pos_ += 2;
      while (is_name(peek())) pos_++;
    } else {
      while (is_digit(peek()) || peek() == '_') pos_++;
      if (peek() == '.') is_float = true, pos_++;
      while (is_digit(peek()) || peek() == '_') pos_++;
      if ((peek() | 32) == 'e') {
        is_float = true;
        pos_++;
        if (peek() == '-' || peek() == '+') pos_++;
        while (is_digit(peek())) pos_++;
      }
    }
    std::string_view digits = text_.substr(begin, pos_ - begin);
    if (is_name(peek())) fail(begin, "'" + std::string(digits) + peek() + "...' is no number");
    if (!is_float) {
      int64_t small;
      auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), small);
      if (error == std::errc() && end == digits.data() + digits.size()) return {Arg(small)};
      if (digits.size() > 5000) fail(begin, "an integer of " + std::to_string(digits.size()) + " digits", "at most 5000");
      if (auto big = Int::parse(digits)) return {Arg(*big)};
    } else {
      if (digits.front() == '.') {
        if (auto v = parse_py_float("0" + std::string(digits))) return {Arg(*v)};
      } else if (auto v = parse_py_float(digits)) {
        return {Arg(*v)};
      }
    }
    fail(begin, "'" + std::string(digits.substr(0, 40)) + "' is no number");
  }

  std::string string() {
    size_t begin = pos_;
    char quote = text_[pos_++];
    while (pos_ < text_.size() && text_[pos_] != quote && text_[pos_] != '\n') pos_ += text_[pos_] == '\\' ? 2 : 1;
    if (pos_ >= text_.size() || text_[pos_] != quote) fail(begin, "a string that does not end on its line");
    auto value = py_unescape(text_.substr(begin + 1, pos_ - begin - 1));
    if (!value) fail(begin, "a malformed escape in a string");
    pos_++;
    return *value;
  }

  std::string_view attribute(const char* what) {
    skip();
    expect('.', what);
    return identifier(what);
  }

  // Names of tinygrad and Python.
  Value named(std::string_view name, size_t at) {
    switch (name.size()) {
      case 3:
        if (name == "UOp") return peek_call() ? uop_call(at) : uop_static(at);
        if (name == "Ops") {
          size_t word_at = pos_ + 1;
          std::string_view word = attribute("an op's name");
          if (auto op = parse_op(word)) return {Arg(*op)};
          fail(word_at, "unknown op '" + std::string(word) + "'", nearest_op(word));
        }
        if (name == "Opt") return record(RecordClass::Opt, at);
        if (name == "inf") return {Arg(std::numeric_limits<double>::infinity())};
        if (name == "nan") return {Arg(std::numeric_limits<double>::quiet_NaN())};
        break;
      case 4:
        if (name == "True") return {Arg(true)};
        if (name == "None") return {Arg()};
        break;
      case 5:
        if (name == "False") return {Arg(false)};
        break;
      default: break;
    }
    if (name == "dtypes") return {dtype(at)};
    if (name == "Invalid") return {Arg(Const::invalid())};
    if (name == "AxisType") return enumerated(parse_axis_type, "an axis type");
    if (name == "OptOps") return enumerated(parse_opt_op, "an optimization");
    if (name == "AddrSpace") return {addrspace()};
    if (auto c = parse_record_class(name)) return record(*c, at);
    if (auto it = kernels_.find(name); it != kernels_.end()) {
      expect('(', "after the kernel's name");
      expect(')', "(kernels take no arguments)");
      return {it->second};
    }
    fail(at, "unknown name '" + std::string(name) + "'", "a name assigned above, UOp, dtypes, ...");
  }

  std::string nearest_op(std::string_view word) {
    std::vector<std::string_view> names;
    for (int i = 0; i < kNumOps; i++) names.push_back(name_of(Op(i)));
    std::string near = nearest_names(word, names);
    return near.empty() ? "an op of tinygrad 0.12.0" : near;
  }

  template <class Parse>
  Value enumerated(Parse parse, const char* what) {
    size_t at = pos_ + 1;
    std::string_view word = attribute(what);
    auto value = parse(word);
    if (!value) fail(at, "unknown name '" + std::string(word) + "'", what);
    return {Arg(*value)};
  }

  Arg addrspace() {
    size_t at = pos_ + 1;
    std::string_view word = attribute("an address space");
    for (AddrSpace s : {AddrSpace::GLOBAL, AddrSpace::LOCAL, AddrSpace::REG})
      if (name_of(s) == word) return s;
    fail(at, "unknown address space '" + std::string(word) + "'", "GLOBAL, LOCAL or REG");
  }

  // dtypes.float.vec(4).ptr(16, AddrSpace.REG), dtypes.imagef((4, 16, 4)), ...
  Arg dtype(size_t at) {
    size_t name_at = pos_ + 1;
    std::string_view name = attribute("a dtype's name");
    DType d;
    if (name == "imageh" || name == "imagef") {
      size_t args_at = pos_;
      auto args = arguments();
      std::vector<int64_t> shape;
      if (args.empty()) fail(args_at, "an image dtype without a shape");
      for (Arg a : as_arg(args[0].value).is_tuple() ? as_arg(args[0].value).items() : std::span<const Arg>()) shape.push_back(a.is_int() ? a.small_int() : -1);
      if (shape.size() != 3 || std::any_of(shape.begin(), shape.end(), [](int64_t v) { return v < 1 || v > 1 << 20; }))
        fail(args_at, "an image dtype with the shape " + describe_value(args[0].value), "three sizes");
      int64_t pitch = args.size() > 1 ? as_int(args[1].value, args[1].at) : -1;
      d = name == "imageh" ? dtypes::imageh(shape, pitch) : dtypes::imagef(shape, pitch);
    } else {
      auto known = dtypes::parse(name);
      if (!known) {
        std::string near = nearest_names(name, dtypes::attribute_names());
        fail(name_at, "unknown dtype '" + std::string(name) + "'", near.empty() ? "a dtype of tinygrad 0.12.0" : near);
      }
      d = *known;
    }
    while (peek() == '.') {
      size_t method_at = ++pos_;
      std::string_view method = identifier("'vec' or 'ptr'");
      auto args = arguments();
      if (method == "vec") {
        if (args.size() != 1) fail(method_at, "vec() with " + std::to_string(args.size()) + " arguments", "one");
        int64_t n = as_int(args[0].value, args[0].at);
        guarded(method_at, [&] { d = d.vec(n); });
      } else if (method == "ptr") {
        int64_t size = -1;
        AddrSpace space = AddrSpace::GLOBAL;
        for (size_t i = 0; i < args.size(); i++) {
          bool is_size = args[i].keyword.empty() ? i == 0 : args[i].keyword == "size";
          if (is_size) size = as_int(args[i].value, args[i].at);
          else if (args[i].value.arg.kind() == Arg::Kind::AddrSpace && !args[i].value.is_list) space = args[i].value.arg.addrspace();
          else fail(args[i].at, "found " + describe_value(args[i].value), "an address space");
        }
        guarded(method_at, [&] { d = d.ptr(size, space); });
      } else if (method == "scalar") {
        d = d.scalar();
      } else {
        fail(method_at, "a dtype has no method '" + std::string(method) + "'", "vec or ptr");
      }
    }
    (void)at;
    return d;
  }

  // Runs something that may throw a Failure without a position, and gives it this one.
  template <class Body>
  void guarded(size_t at, Body&& body) {
    try {
      body();
    } catch (Failure& failure) {
      if (failure.diag().line) throw;
      fail(at, failure.diag().message, failure.diag().expected);
    }
  }

  bool peek_call() {
    skip();
    return peek() == '(';
  }

  std::vector<Argument> arguments() {
    expect('(', "and arguments");
    size_t open = pos_ - 1;
    brackets_++;
    std::vector<Argument> out;
    for (;;) {
      skip();
      if (peek() == ')') break;
      size_t at = pos_;
      std::string_view keyword;
      if (is_name_start(peek())) {
        size_t p = pos_;
        while (p < text_.size() && is_name(text_[p])) p++;
        size_t q = p;
        while (q < text_.size() && text_[q] == ' ') q++;
        if (q < text_.size() && text_[q] == '=' && (q + 1 >= text_.size() || text_[q + 1] != '=')) {
          keyword = text_.substr(pos_, p - pos_);
          pos_ = q + 1;
          at = (skip(), pos_);
        }
      }
      if (keyword.empty() && !out.empty() && !out.back().keyword.empty()) fail(at, "a positional argument after keyword arguments");
      out.push_back({keyword, expression(0), at});
      if (!take(',')) break;
    }
    skip();
    if (peek() != ')') fail(pos_, "found " + found(pos_), "',' or ')' for the '(' of " + where(open));
    pos_++;
    brackets_--;
    return out;
  }

  const Argument* keyword(const std::vector<Argument>& args, std::string_view name) {
    for (auto& a : args)
      if (a.keyword == name) return &a;
    return nullptr;
  }
  // The argument of that position or keyword, or null.
  const Argument* argument(const std::vector<Argument>& args, size_t position, std::string_view name) {
    if (position < args.size() && args[position].keyword.empty()) return &args[position];
    return keyword(args, name);
  }
  void only_keywords(const std::vector<Argument>& args, std::initializer_list<std::string_view> allowed) {
    for (auto& a : args)
      if (!a.keyword.empty() && std::find(allowed.begin(), allowed.end(), a.keyword) == allowed.end())
        fail(a.at, "unknown keyword argument '" + std::string(a.keyword) + "'");
  }

  Value record(RecordClass c, size_t at) {
    auto args = arguments();
    auto fields = fields_of(c);
    static constexpr Arg kNone;
    std::vector<Arg> values(fields.size(), kNone);
    if (c == RecordClass::KernelInfo) values = {graph_.str("test"), graph_.tuple({}), false, graph_.tuple({}), Arg()};
    if (c == RecordClass::BufferizeOpts) values = {Arg(), AddrSpace::GLOBAL, true};
    if (c == RecordClass::Kernel) values[1] = graph_.tuple({});
    if (c == RecordClass::Metadata) values[2] = false;
    for (size_t i = 0; i < args.size(); i++) {
      size_t field = args[i].keyword.empty() ? i : size_t(std::find(fields.begin(), fields.end(), args[i].keyword) - fields.begin());
      if (field >= fields.size()) fail(args[i].at, std::string(name_of(c)) + " has no such argument");
      values[field] = as_arg(args[i].value);
    }
    if (c == RecordClass::Kernel && !values[0].is_uop()) fail(at, "a Kernel without an ast", "Kernel(k0(), ())");
    check_record(c, values, at);
    return {graph_.record(c, values)};
  }

  // The types that the rest of tgc relies on.
  void check_record(RecordClass c, const std::vector<Arg>& v, size_t at) {
    auto tuple_of = [](Arg a, auto is) { return a.is_tuple() && std::all_of(a.items().begin(), a.items().end(), is); };
    auto is_opt = [](Arg a) { return a.is(RecordClass::Opt); };
    bool fits = true;
    if (c == RecordClass::KernelInfo)
      fits = v[0].is_str() && tuple_of(v[1], [](Arg a) { return a.kind() == Arg::Kind::AxisType; }) && v[2].kind() == Arg::Kind::Bool &&
             tuple_of(v[3], is_opt) && (v[4].is_none() || tuple_of(v[4], is_opt));
    else if (c == RecordClass::Opt)
      fits = v[0].kind() == Arg::Kind::OptOps && (v[1].is_none() || v[1].is_int()) && (v[2].is_none() || v[2].is_int() || v[2].is_tuple());
    else if (c == RecordClass::BufferizeOpts)
      fits = v[1].kind() == Arg::Kind::AddrSpace && v[2].kind() == Arg::Kind::Bool;
    if (!fits) fail(at, "a " + std::string(name_of(c)) + " with arguments of wrong types");
  }

  // UOp(op, dtype=void, src=(), arg=None, tag=None)
  Value uop_call(size_t at) {
    auto args = arguments();
    only_keywords(args, {"op", "dtype", "src", "arg", "tag"});
    const Argument *op = argument(args, 0, "op"), *dtype = argument(args, 1, "dtype"), *src = argument(args, 2, "src"),
                   *arg = argument(args, 3, "arg"), *tag = argument(args, 4, "tag");
    if (!op || op->value.is_list || !op->value.arg.is_op()) fail(at, "UOp(...) without an op", "UOp(Ops.NAME, ...)");
    DType d = dtype ? as_dtype(dtype->value, dtype->at) : dtypes::void_;
    std::vector<UOp> sources;
    if (src) sources = as_uops(src->value, src->at);
    Arg a = arg ? as_arg(arg->value) : Arg();
    return {graph_.node(op->value.arg.op(), d, sources, a, tag ? as_arg(tag->value) : Arg())};
  }

  // UOp.const(...), UOp.range(...), ...
  Value uop_static(size_t at) {
    size_t name_at = pos_ + 1;
    std::string_view name = attribute("a method of UOp");
    auto args = arguments();
    auto need = [&](size_t i, const char* what) -> const Argument& {
      if (i >= args.size() || !args[i].keyword.empty()) fail(at, "UOp." + std::string(name) + " without " + what);
      return args[i];
    };
    auto with_dtype = [&](DType fallback) {
      const Argument* k = keyword(args, "dtype");
      return k ? as_dtype(k->value, k->at) : fallback;
    };
    auto device_arg = [&](Arg a, size_t where_at) {
      if (!a.is_str() && !a.is_tuple()) fail(where_at, "found " + a.repr(), "a device");
      return a;
    };
    if (name == "const" || name == "unique_const") {
      const Argument &d = need(0, "a dtype"), &v = need(1, "a value");
      DType dtype = as_dtype(d.value, d.at);
      std::vector<UOp> src;
      if (const Argument* k = argument(args, 2, "device"); k && !as_arg(k->value).is_none())
        src.push_back(graph_.node(Op::DEVICE, dtypes::void_, {}, device_arg(as_arg(k->value), k->at)));
      if (const Argument* k = keyword(args, "unique")) src.push_back(graph_.node(Op::UNIQUE, dtypes::void_, {}, as_arg(k->value)));
      Arg value = as_arg(v.value);
      if (!value.is_const() && !value.is_tuple()) fail(v.at, "found " + describe_value(v.value), "a number");
      UOp c;
      guarded(v.at, [&] {
        if (value.is_tuple())
          for (Arg a : value.items())
            if (!a.is_const()) throw Failure(Diag{.message = "found " + a.repr() + " in a constant", .expected = "a number"});
        c = const_from_arg(graph_, dtype, value);
      });
      return {src.empty() ? c : c.with_src(src)};
    }
    if (name == "range") {
      const Argument& end = need(0, "an end");
      DType dtype = with_dtype(dtypes::index);
      std::vector<Arg> axis;
      for (size_t i = 1; i < args.size() && args[i].keyword.empty(); i++) axis.push_back(as_arg(args[i].value));
      if (axis.empty() || axis.back().kind() != Arg::Kind::AxisType) axis.push_back(AxisType::LOOP);
      if (axis.size() < 2) fail(at, "UOp.range without an axis number");
      for (size_t i = 0; i + 1 < axis.size(); i++)
        if (!axis[i].is_int()) fail(at, "UOp.range with the axis " + axis[i].repr(), "an integer");
      std::vector<UOp> src;
      Arg e = as_arg(end.value);
      if (e.is_uop()) src.push_back(e.uop().cast(dtype));
      else guarded(end.at, [&] { src.push_back(graph_.constant(dtype, as_const(end.value, end.at))); });
      if (const Argument* k = keyword(args, "src"))
        for (UOp s : as_uops(k->value, k->at)) src.push_back(s);
      return {graph_.node(Op::RANGE, dtype, src, graph_.tuple(axis))};
    }
    if (name == "special") {
      const Argument &end = need(0, "an end"), &text = need(1, "a name");
      DType dtype = with_dtype(dtypes::index);
      Arg e = as_arg(end.value), n = as_arg(text.value);
      if (!n.is_str()) fail(text.at, "found " + describe_value(text.value), "a name");
      UOp size;
      if (e.is_uop()) size = e.uop().cast(dtype);
      else guarded(end.at, [&] { size = graph_.constant(dtype, as_const(end.value, end.at)); });
      return {graph_.node(Op::SPECIAL, dtype, size, n)};
    }
    if (name == "variable") {
      const Argument &text = need(0, "a name"), &low = need(1, "a minimum"), &high = need(2, "a maximum");
      if (!as_arg(text.value).is_str()) fail(text.at, "found " + describe_value(text.value), "a name");
      Arg arg = graph_.tuple({as_arg(text.value), as_const(low.value, low.at), as_const(high.value, high.at)});
      return {graph_.node(Op::DEFINE_VAR, with_dtype(dtypes::index), {}, arg)};
    }
    if (name == "new_buffer") {
      const Argument &device = need(0, "a device"), &size = need(1, "a size"), &d = need(2, "a dtype"), &number = need(3, "a number");
      UOp src[] = {graph_.node(Op::UNIQUE, dtypes::void_, {}, as_arg(number.value)),
                   graph_.node(Op::DEVICE, dtypes::void_, {}, device_arg(as_arg(device.value), device.at))};
      return {graph_.node(Op::BUFFER, as_dtype(d.value, d.at), src, as_int(size.value, size.at))};
    }
    // the methods without sources: UOp.sink(), UOp.unique(arg=3), ...
    std::string upper(name);
    for (char& c : upper) c = char(c >= 'a' && c <= 'z' ? c & ~32 : c);
    auto op = parse_op(upper);
    if (!op) fail(name_at, "UOp has no method '" + std::string(name) + "'");
    only_keywords(args, {"arg", "dtype"});
    std::vector<UOp> src;
    for (auto& a : args)
      if (a.keyword.empty()) src.push_back(as_uop(a.value, a.at));
    const Argument* arg = keyword(args, "arg");
    return {graph_.node(*op, with_dtype(dtypes::void_), src, arg ? as_arg(arg->value) : Arg())};
  }

  // ---- methods
  Value postfix(Value v) {
    for (;;) {
      skip();
      if (peek() != '.' || is_digit(peek(1))) return v;
      size_t at = ++pos_;
      std::string_view name = identifier("a method");
      if (v.is_list || !v.arg.is_uop()) fail(at, describe_value(v) + " has no method '" + std::string(name) + "'");
      auto it = std::lower_bound(std::begin(kMethods), std::end(kMethods), name, [](const MethodName& m, std::string_view n) { return m.name < n; });
      if (it == std::end(kMethods) || it->name != name) {
        std::vector<std::string_view> names;
        for (auto& m : kMethods) names.push_back(m.name);
        fail(at, "a UOp has no method '" + std::string(name) + "'", nearest_names(name, names));
      }
      auto args = arguments();
      UOp out;
      guarded(at, [&] { out = call(v.arg.uop(), it->method, name, args, at); });
      v = {out};
    }
  }

  UOp call(UOp self, Method method, std::string_view name, const std::vector<Argument>& args, size_t at) {
    auto count = [&](size_t least, size_t most) {
      if (args.size() < least || args.size() > most)
        fail(at, std::string(name) + "() with " + std::to_string(args.size()) + " arguments",
             least == most ? std::to_string(least) : std::to_string(least) + " to " + std::to_string(most));
    };
    auto uop = [&](size_t i) { return as_uop(args[i].value, args[i].at); };
    auto operand = [&](size_t i, UOp like) {
      Arg a = as_arg(args[i].value);
      return a.is_uop() ? a.uop() : like.const_like(as_const(args[i].value, args[i].at));
    };
    auto keyword_dtype = [&](DType fallback) {
      const Argument* k = keyword(args, "dtype");
      return k ? as_dtype(k->value, k->at) : fallback;
    };
    // the node `op` of self, the positional arguments, and arg=
    auto generic = [&](Op op, DType dtype) {
      only_keywords(args, {"arg", "dtype", "ptr"});
      std::vector<UOp> src{self};
      for (auto& a : args)
        if (a.keyword.empty()) src.push_back(as_uop(a.value, a.at));
      const Argument* arg = keyword(args, "arg");
      return graph_.node(op, dtype, src, arg ? as_arg(arg->value) : Arg());
    };
    auto unary_alu = [&](Op op) {
      count(0, 0);
      return self.alu(op);
    };
    auto binary_alu = [&](Op op) {
      count(1, 1);
      return self.alu(op, operand(0, self));
    };
    if (ops_moved(method) && self.is_const() && self.num_src() == 0 && !in_function_) self = local_unique_constant(self, unique_constants_++);
    switch (method) {
      case Method::Index: {
        const Argument* ptr = keyword(args, "ptr");
        bool is_ptr = ptr && as_arg(ptr->value).kind() == Arg::Kind::Bool && as_arg(ptr->value).as_bool();
        return generic(Op::INDEX, keyword_dtype(is_ptr ? self.dtype() : self.dtype().base()));
      }
      case Method::Load: return generic(Op::LOAD, keyword_dtype(self.dtype().base()));
      case Method::Store: return generic(Op::STORE, dtypes::void_);
      case Method::End: return args.empty() ? self : generic(Op::END, dtypes::void_);
      case Method::After: return generic(Op::AFTER, self.dtype());
      case Method::Barrier: return generic(Op::BARRIER, dtypes::void_);
      case Method::Sink: return generic(Op::SINK, dtypes::void_);
      case Method::Reduce: return generic(Op::REDUCE, keyword_dtype(self.dtype()));
      case Method::Assign:
        if (self.is_const() && self.num_src() == 0 && args.size() == 1 && args[0].keyword.empty() && !in_function_) {
          UOpSet named(graph_);
          for (auto& [_, u] : names_) named.insert(u);
          return assign_to_local_unique(self, uop(0), named, unique_constants_++);
        }
        return generic(Op::ASSIGN, self.dtype());
      case Method::Contiguous: return generic(Op::CONTIGUOUS, self.dtype());
      case Method::Detach: return generic(Op::DETACH, self.dtype());
      case Method::Encdec: return generic(Op::ENCDEC, self.dtype());
      case Method::Threefry: return binary_alu(Op::THREEFRY);
      case Method::Where: {
        count(2, 2);
        Arg yes = as_arg(args[0].value), no = as_arg(args[1].value);
        if (!yes.is_uop() && !no.is_uop()) fail(at, "where() of two constants", "a UOp");
        UOp y = yes.is_uop() ? yes.uop() : operand(0, no.uop());
        return self.where(y, operand(1, y));
      }
      case Method::Cast: {
        count(1, 1);
        return graph_.node(Op::CAST, as_dtype(args[0].value, args[0].at), self);
      }
      case Method::Bitcast: count(1, 1); return self.bitcast(as_dtype(args[0].value, args[0].at));
      case Method::Alu: {
        if (args.empty() || !as_arg(args[0].value).is_op()) fail(at, "alu() without an op");
        std::vector<UOp> rest;
        for (size_t i = 1; i < args.size(); i++) rest.push_back(uop(i));
        return self.alu(as_arg(args[0].value).op(), rest);
      }
      case Method::Broadcast: count(1, 1); return self.broadcast(as_int(args[0].value, args[0].at));
      case Method::Gep: {
        count(1, 1);
        Arg a = as_arg(args[0].value);
        if (!a.is_tuple()) return self.gep(as_int(args[0].value, args[0].at));
        std::vector<int64_t> indices;
        for (Arg i : a.items()) indices.push_back(i.is_int() ? i.small_int() : -1);
        return self.gep(indices);
      }
      case Method::CopyToDevice: {
        count(1, 1);
        Arg device = as_arg(args[0].value);
        UOp d = device.is_uop() ? device.uop() : graph_.node(Op::DEVICE, dtypes::void_, {}, device);
        return graph_.node(Op::COPY, self.dtype(), {self, d});
      }
      case Method::Exp2: return unary_alu(Op::EXP2);
      case Method::Log2: return unary_alu(Op::LOG2);
      case Method::Sin: return unary_alu(Op::SIN);
      case Method::Sqrt: return unary_alu(Op::SQRT);
      case Method::Reciprocal: return unary_alu(Op::RECIPROCAL);
      case Method::Trunc: return unary_alu(Op::TRUNC);
      case Method::LogicalNot: count(0, 0); return self.logical_not();
      case Method::Maximum: return binary_alu(Op::MAX);
      case Method::Minimum: count(1, 1); return self.minimum(operand(0, self));
      case Method::Ne: return binary_alu(Op::CMPNE);
      case Method::Eq: return binary_alu(Op::CMPNE).logical_not();
      case Method::Pow: return binary_alu(Op::POW);
      case Method::Rtag: count(0, 1); return self.rtag(args.empty() ? Arg(true) : as_arg(args[0].value));
      case Method::Replace: {
        only_keywords(args, {"op", "dtype", "src", "arg", "tag"});
        UOp out = self;
        for (auto& a : args) {
          if (a.keyword == "dtype") out = out.with_dtype(as_dtype(a.value, a.at));
          else if (a.keyword == "src") out = out.with_src(as_uops(a.value, a.at));
          else if (a.keyword == "arg") out = out.with_arg(as_arg(a.value));
          else if (a.keyword == "tag") out = out.rtag(as_arg(a.value));
          else if (as_arg(a.value).is_op()) out = out.replace({.op = as_arg(a.value).op()});
        }
        return out;
      }
      case Method::R: {
        count(2, 2);
        Arg op = as_arg(args[0].value), axes = as_arg(args[1].value);
        if (!op.is_op() || !axes.is_tuple()) fail(at, "r() of wrong arguments", "r(Ops.ADD, (0, 1))");
        UOp out = graph_.node(Op::REDUCE_AXIS, self.dtype(), self, graph_.tuple({op, axes}));
        shape_of(out);
        return out;
      }
      case Method::Reshape:
      case Method::ForcedReshape: return movement_of_sizes(self, Op::RESHAPE, args, at);
      case Method::Expand: return movement_of_sizes(self, Op::EXPAND, args, at);
      case Method::Pad: return movement_of_pairs(self, Op::PAD, args, at);
      case Method::Shrink: return movement_of_pairs(self, Op::SHRINK, args, at);
      case Method::Permute: {
        count(1, 1);
        UOp out = graph_.node(Op::PERMUTE, self.dtype(), self, as_arg(args[0].value));
        shape_of(out);
        return out;
      }
      case Method::Flip: {
        count(1, 1);
        std::vector<Arg> axes(shape_of(self).size(), Arg(false));
        Arg list = as_arg(args[0].value);
        for (Arg a : list.is_tuple() ? list.items() : std::span(&list, 1)) {
          if (!a.is_int() || a.as_int() < 0 || a.as_int() >= Int(int64_t(axes.size()))) fail(args[0].at, "flip of the axis " + a.repr());
          axes[size_t(a.small_int())] = true;
        }
        return graph_.node(Op::FLIP, self.dtype(), self, graph_.tuple(axes));
      }
    }
    fail(at, "unknown method");
  }

  static bool ops_moved(Method m) {
    return m == Method::Reshape || m == Method::ForcedReshape || m == Method::Expand || m == Method::Permute || m == Method::Pad ||
           m == Method::Shrink || m == Method::Flip;
  }

  // The sizes of reshape, expand, pad and shrink, as written: nothing is simplified away.
  UOp size_node(const std::vector<Arg>& sizes, size_t at) {
    DType dtype = dtypes::index.vec(int64_t(sizes.size()));
    if (sizes.empty()) return graph_.node(Op::VECTORIZE, dtype);
    bool all_ints = true;
    for (Arg a : sizes) {
      if (!a.is_int() && !a.is_uop()) fail(at, "found the size " + a.repr(), "an integer or a UOp");
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

  UOp movement_of_sizes(UOp self, Op op, const std::vector<Argument>& args, size_t at) {
    std::vector<Arg> sizes;
    if (args.size() == 1 && as_arg(args[0].value).is_tuple()) {
      auto items = as_arg(args[0].value).items();
      sizes.assign(items.begin(), items.end());
    } else {
      for (auto& a : args) sizes.push_back(as_arg(a.value));
    }
    UOp out = graph_.node(op, self.dtype(), {self, size_node(sizes, at)});
    shape_of(out);
    return out;
  }

  UOp movement_of_pairs(UOp self, Op op, const std::vector<Argument>& args, size_t at) {
    if (args.size() != 1 || !as_arg(args[0].value).is_tuple()) fail(at, "wrong arguments", "one tuple of pairs");
    std::vector<Arg> first, second;
    for (Arg pair : as_arg(args[0].value).items()) {
      if (!pair.is_tuple() || pair.items().size() != 2) fail(at, "found " + pair.repr(), "a pair");
      first.push_back(pair[0]);
      second.push_back(pair[1]);
    }
    UOp out = graph_.node(op, self.dtype(), {self, size_node(first, at), size_node(second, at)});
    shape_of(out);
    return out;
  }

  Graph& graph_;
  std::string_view text_;
  std::string_view file_;
  size_t pos_ = 0;
  int brackets_ = 0, depth_ = 0;
  bool in_function_ = false;
  int64_t unique_constants_ = 0;  // constants whose unique number the text leaves out
  bool stand_ins_ = false;        // constants whose device it leaves out
  std::unordered_map<std::string_view, UOp> names_, kernels_;
  std::vector<Arg> lists_;
};

}  // namespace

Result<UOp> read_pyrender(Graph& graph, std::string_view text, std::string_view file) {
  return catch_failures([&] { return Reader(graph, text, file).read(); });
}

}  // namespace tgc
