// A precedence parser for Python expressions that builds nodes while parsing.
#include "lib/text/pyrender_reader.h"

#include <algorithm>

#include "lib/text/graph_info.h"
#include "lib/text/pyrender.h"
#include "lib/text/restore.h"
#include "lib/uop/facts.h"

namespace tgc {
namespace {

// Returns 12 for the name "c12", and so on; returns -1 for names of another form.
int64_t number_of_name(std::string_view name) {
  if (name.size() < 2 || name.size() > 8 || name[0] != 'c' || (name[1] == '0' && name.size() > 2)) return -1;
  int64_t n = 0;
  for (char c : name.substr(1)) {
    if (c < '0' || c > '9') return -1;
    n = n * 10 + (c - '0');
  }
  return n;
}

constexpr std::string_view kUOpConst = "UOp.const(";  // begins the most frequent kind of operand after names

bool is_reserved(std::string_view name) {
  return name == "UOp" || name == "dtypes" || name == "Ops" || name == "AxisType" || name == "True" ||
         name == "False" || name == "None";
}

}  // namespace

// ---- statements

UOp PyrenderReader::read() {
  UOp ast, last;
  literal_ = has_header(text_);
  for (;;) {
    skip_lines();
    if (at_end()) break;
    size_t at = pos_;
    std::string_view name = identifier("a statement");
    if (name == "def") {
      function();
      continue;
    }
    last = assignment(name, at);
    end_of_line();
    if (may_be_corrected()) last = correction(name, last);
    if (name != "ast") continue;
    if (ast) fail(at, "a second graph in one text", "one graph; golden records hold several");
    ast = last;
  }
  if (!ast) ast = last;
  if (!ast) fail(pos_, "the input holds no graph", "an assignment such as 'ast = c5.sink()'");
  const UOp stated = ast;
  if (!open_.empty()) ast = infer_dtypes(ast);
  if (stand_ins_ || unique_constants_) ast = restore_constants(ast);
  if (noted_ && !(ast == stated)) note_inferred(stated, ast);
  return ast;
}

// Replaces the nodes in *noted_, which are of the graph under `before`, by those of the graph under `after`, which has
// the same structure and the inferred facts.
void PyrenderReader::note_inferred(UOp before, UOp after) {
  const auto from = toposort(before), to = toposort(after);
  if (from.size() != to.size()) return;
  UOpMap<UOp> became(graph_);
  for (size_t i = 0; i < from.size(); i++) became[from[i]] = to[i];
  for (NodeAt& n : *noted_)
    if (const UOp* u = became.find(n.node)) n.node = *u;
}

UOp PyrenderReader::infer_dtypes(UOp root) {
  std::vector<UOp> open;
  for (auto& [u, line] : open_) open.push_back(u);
  root = infer_lengths(root, open);
  for (auto& [u, line] : open_)
    if (std::find(open.begin(), open.end(), u) != open.end())
      warnings_.push_back("the dtype of the " + std::string(name_of(u.op())) + " in the line of '" + std::string(line) +
                          "' is not in the text and cannot be inferred from its uses; assuming " +
                          std::string(u.dtype().repr()));
  return root;
}

void PyrenderReader::end_of_line() {
  skip();
  if (peek() == ';') pos_++;
  else if (!at_end() && peek() != '\n') fail(pos_, "unexpected " + found(pos_), "the end of the line");
}

UOp PyrenderReader::assignment(std::string_view name, size_t at) {
  skip();
  if (peek() != '=' || peek(1) == '=')
    fail(pos_, "found " + found(pos_) + " after the name '" + std::string(name) + "'", "'='");
  pos_++;
  lists_.clear();
  line_name_ = name;
  size_t value_at = (skip(), pos_);
  note_place(at);
  UOp u;
  guarded(value_at, [&] { u = as_uop(expression(), value_at); });  // an error without a position gets value_at
  if (is_reserved(name)) fail(at, "'" + std::string(name) + "' cannot be assigned to");
  define(name, u);
  if (noted_) noted_->push_back({at, u});
  return u;
}

// Reads the comment that may follow the line of `name`, whose node is `u`: "# c12: dtypes.float.vec(8)" states c12's
// dtype, "# c12 = UOp(...)" the whole node. Returns the node that the comment states; `u` without such a comment.
UOp PyrenderReader::correction(std::string_view name, UOp u) {
  size_t at = text_.find_first_not_of(' ', pos_ + 1);
  if (at == text_.npos || text_.substr(at, 2) != "# " || text_.substr(at + 2, name.size()) != name) return u;
  at += 2 + name.size();
  std::string_view rest = text_.substr(at);
  if (rest.starts_with(": dtypes.")) {
    pos_ = at + 2;
    identifier("a dtype");
    DType d = dtype();
    u = make(at, u.op(), d, u.src(), u.arg(), u.tag());
  } else if (rest.starts_with(" = UOp(Ops.")) {
    pos_ = at + 2;
    lists_.clear();
    size_t value_at = (skip(), pos_);
    guarded(value_at, [&] { u = as_uop(expression(), value_at); });
  } else {
    return u;
  }
  end_of_line();
  define(name, u);
  if (noted_) noted_->back().node = u;
  return u;
}

void PyrenderReader::assume(std::span<const UOp> numbered, std::span<const UOp> kernels) {
  literal_ = true;
  numbered_.assign(numbered.begin(), numbered.end());
  kernel_names_.reserve(kernels.size());  // kernels_ refers to these strings, so they must not be moved later
  for (UOp kernel : kernels) {
    std::string number = std::to_string(kernel_names_.size());
    kernels_[kernel_names_.emplace_back("k").append(number)] = kernel;
  }
}

UOp PyrenderReader::value_of_line(size_t at) {
  pos_ = at;
  lists_.clear();
  brackets_ = 0;
  identifier("a name");
  expect('=', "after the name");
  return as_uop(expression(), at);
}

void PyrenderReader::define(std::string_view name, UOp u) {
  int64_t n = number_of_name(name);
  if (n < 0 || size_t(n) > text_.size()) {
    names_[name] = u;
    return;
  }
  if (size_t(n) >= numbered_.size()) numbered_.resize(std::max(size_t(n) + 1, numbered_.size() * 2));
  numbered_[size_t(n)] = u;
}

UOp PyrenderReader::find(std::string_view name) const {
  int64_t n = number_of_name(name);
  if (n >= 0 && size_t(n) <= text_.size()) return size_t(n) < numbered_.size() ? numbered_[size_t(n)] : UOp();
  auto it = names_.find(name);
  return it == names_.end() ? UOp() : it->second;
}

// Reads the definition of a function that builds a kernel: def k0():\n ...\n return ast
void PyrenderReader::function() {
  Nested nested(*this);
  std::string_view name = identifier("a function's name");
  expect('(', "after the function's name");
  expect(')', "(kernels take no parameters)");
  expect(':', "after the parameters");
  functions_++;
  auto outer_names = std::move(names_), outer_kernels = std::move(kernels_);  // each function has its own names
  auto outer_numbered = std::move(numbered_);
  names_.clear(), kernels_.clear();
  numbered_.clear();
  UOp result;
  while (!result) {
    skip_lines();
    if (at_end()) fail(pos_, "the input ends in the function '" + std::string(name) + "'", "'return'");
    size_t at = pos_;
    std::string_view word = identifier("a statement");
    if (word == "def") {
      deeper([&] { function(); });
      continue;
    }
    if (word == "return") {
      size_t value_at = (skip(), pos_);
      guarded(value_at, [&] { result = as_uop(expression(), value_at); });
      end_of_line();
    } else {
      UOp u = assignment(word, at);
      end_of_line();
      if (may_be_corrected()) correction(word, u);
    }
  }
  names_ = std::move(outer_names), kernels_ = std::move(outer_kernels);
  numbered_ = std::move(outer_numbered);
  functions_--;
  kernels_[name] = result;
}

// Fast path for the most frequent operand, a name such as c12. Returns false and reads nothing at any other operand.
bool PyrenderReader::numbered(Value& out) {
  if (peek() != 'c') return false;
  size_t at = pos_ + 1, n = 0;
  while (at < pos_ + 8 && is_digit(char_at(at))) n = n * 10 + size_t(char_at(at++) - '0');
  if (at == pos_ + 1 || is_name(char_at(at)) || (char_at(pos_ + 1) == '0' && at > pos_ + 2)) return false;
  if (n >= numbered_.size() || !numbered_[n]) return false;
  out = {numbered_[n]};
  pos_ = at;
  return true;
}

// ---- operators, by Python's precedence

// Fast path for a name like c12, a number or True, if it is the whole argument or list item.
bool PyrenderReader::quick_item(Value& out) {
  size_t begin = pos_;
  if (!numbered(out)) {
    if (is_digit(peek())) out = {Arg(number())};
    else if (peek() == 'T' && text_.substr(pos_, 4) == "True") out = {Arg(true)}, pos_ += 4;
    else return false;
  }
  if (peek() == ',' || peek() == ')') return true;
  pos_ = begin;
  return false;
}

const PyrenderReader::Infix* PyrenderReader::infix() const {
  static constexpr Infix kLess{Op::CMPLT, 1, 1}, kMore{Op::CMPLT, 1, 1, false, true},
      kLessOrSame{Op::CMPLT, 1, 2, true, true}, kMoreOrSame{Op::CMPLT, 1, 2, true, false}, kUnlike{Op::CMPNE, 1, 2},
      kOr{Op::OR, 2, 1}, kXor{Op::XOR, 3, 1}, kAnd{Op::AND, 4, 1}, kShl{Op::SHL, 5, 2}, kShr{Op::SHR, 5, 2},
      kAdd{Op::ADD, 6, 1}, kSub{Op::SUB, 6, 1}, kMul{Op::MUL, 7, 1}, kIdiv{Op::IDIV, 7, 2}, kFdiv{Op::FDIV, 7, 1},
      kMod{Op::MOD, 7, 1}, kPow{Op::POW, 9, 2};
  char next = peek(1);
  switch (peek()) {
    case '<': return next == '<' ? &kShl : next == '=' ? &kLessOrSame : &kLess;
    case '>': return next == '>' ? &kShr : next == '=' ? &kMoreOrSame : &kMore;
    case '!': return next == '=' ? &kUnlike : nullptr;
    case '|': return &kOr;
    case '^': return &kXor;
    case '&': return &kAnd;
    case '+': return &kAdd;
    case '-': return &kSub;
    case '*': return next == '*' ? &kPow : &kMul;
    case '/': return next == '/' ? &kIdiv : &kFdiv;
    case '%': return &kMod;
    default: return nullptr;
  }
}

PyValues::Value PyrenderReader::infix_expression(int min_precedence) {
  size_t left_at = (skip(), pos_);
  Value left = unary();
  bool compared = false;
  for (;;) {
    skip();
    if (!is_operator(peek())) return left;
    const Infix* op = infix();
    if (!op || op->precedence < min_precedence) return left;
    if (op->precedence == 1) {
      if (compared) fail(pos_, "a chain of comparisons", "brackets");
      compared = true;
    }
    pos_ += size_t(op->length);
    size_t right_at = (skip(), pos_);
    Value right = op->op == Op::POW ? nested_expression(8) : infix_expression(op->precedence + 1);
    left = apply(*op, left, left_at, right, right_at);
  }
}

// Parses the operand of an operator that nests to the right without parentheses: the x of -x, the y of x**y.
PyValues::Value PyrenderReader::nested_expression(int min_precedence) {
  Nested nested(*this);
  return deeper([&] { return infix_expression(min_precedence); });
}

namespace {
UOp combine(Op op, bool swap, bool negate, UOp a, UOp b) {
  if (swap) std::swap(a, b);
  UOp out = op == Op::FDIV ? fdiv(a, b) : op == Op::SUB ? a - b : a.alu(op, b);
  return negate ? out.logical_not() : out;
}
}  // namespace

PyValues::Value PyrenderReader::apply(const Infix& op, const Value& left, size_t left_at, const Value& right,
                                      size_t right_at) {
  if (left.is_uop() && right.is_uop()) {
    UOp a = left.arg.uop(), b = right.arg.uop(), u = combine(op.op, op.swap, op.negate, a, b);
    bool shift = op.op == Op::SHL || op.op == Op::SHR;  // a shift has the dtype of the shifted operand
    return {shift && a.dtype() != b.dtype() && infers() ? u.with_dtype(a.dtype()) : u};
  }
  if (left.is_uop() || right.is_uop()) return apply_beside_literal(op, left, left_at, right, right_at);
  return constant_arithmetic(op, as_const(left, left_at), as_const(right, right_at), left_at);
}

PyValues::Value PyrenderReader::apply_beside_literal(const Infix& op, const Value& left, size_t left_at,
                                                     const Value& right, size_t right_at) {
  bool uop_is_left = left.is_uop();
  UOp u = uop_is_left ? left.arg.uop() : right.arg.uop();
  Const number = uop_is_left ? as_const(right, right_at) : as_const(left, left_at);
  Value out;
  guarded(left_at, [&] {
    if (uop_is_left && op.op == Op::SUB) return void(out = {u + u.const_like(py_neg(number))});
    // tinygrad folds an op of two constants unless one has a unique number, so the constant `u` has such a number
    if (u.is_const() && u.num_src() == 0 && infers()) u = local_unique_constant(u, unique_constants_++);
    UOp c = literal_beside(u, number);
    out = {combine(op.op, op.swap, op.negate, uop_is_left ? u : c, uop_is_left ? c : u)};
  });
  return out;
}

// Returns the constant for a bare number that is an operand next to `u`, on u's device. If u's device is unknown,
// returns a stand-in (restore.h).
UOp PyrenderReader::literal_beside(UOp u, Const value) {
  bool known = !device_of(u).is_none() && !is_stand_in(u);
  if (known || !infers()) return u.const_like(value);
  stand_ins_ = true;
  return constant_on_some_device(graph_.constant(u.dtype(), value));
}

static int64_t most_bits(Const v) { return std::max<int64_t>(v.as_int().bit_length(), 1); }

PyValues::Value PyrenderReader::constant_arithmetic(const Infix& op, Const a, Const b, size_t at) {
  Value out;
  guarded(at, [&] {
    bool integral = a.is_integral() && b.is_integral();
    if (op.op == Op::ADD) out = {Arg(py_add(a, b))};
    else if (op.op == Op::SUB) out = {Arg(py_sub(a, b))};
    else if (op.op == Op::MUL) out = {Arg(py_mul(a, b))};
    else if (op.op == Op::IDIV && integral) out = {Arg(floor_div(a.as_int(), b.as_int()))};
    else if (op.op == Op::POW && integral && b.as_int() >= 0 && b.as_int() <= limit(Limit::IntBits) / most_bits(a) + 1)
      out = {Arg(pow(a.as_int(), uint32_t(b.as_int().small())))};
    else if (op.op == Op::FDIV && b.to_double() == 0) fail(at, "a division by zero");
    else if (op.op == Op::FDIV) out = {Arg(a.to_double() / b.to_double())};
    else fail(at, "this operation on constants is not supported");
    if (out.arg.kind() == Arg::Kind::BigInt) check_limit(Limit::IntBits, most_bits(out.arg.to_const()));
  });
  return out;
}

PyValues::Value PyrenderReader::unary() {
  skip();
  if (Value v; numbered(v)) return postfix(v);
  if (text_.substr(pos_, kUOpConst.size()) == kUOpConst) {
    size_t at = pos_;
    pos_ += kUOpConst.size() - 1;
    return postfix(constant(at));
  }
  if (peek() != '-' && peek() != '+') return postfix(primary());
  bool negative = peek() == '-';
  size_t at = pos_++;
  Value v = nested_expression(8);
  if (!negative) return v;
  if (v.is_uop()) return {-v.arg.uop()};
  return {Arg(py_neg(as_const(v, at)))};
}

PyValues::Value PyrenderReader::other_name(std::string_view name, size_t at) {
  if (name == "UOp") {
    skip();
    return peek() == '(' ? uop_call(at) : uop_static(at);
  }
  if (UOp u = find(name)) return {u};
  if (auto it = kernels_.find(name); it != kernels_.end()) {
    expect('(', "after the kernel's name");
    expect(')', "(kernels take no arguments)");
    return {it->second};
  }
  fail(at, "unknown name '" + std::string(name) + "'", "a name assigned above, UOp, dtypes, ...");
}

Result<UOp> read_pyrender(Graph& graph, std::string_view text, std::string_view file, Places* places,
                          std::vector<std::string>* warnings) {
  return catch_failures([&] {
    if (graph.is_foreign()) return open_pyrender_reader(graph, text, file, places)->read();
    PyrenderReader reader(graph, text, file, places);
    UOp root = reader.read();
    if (warnings) *warnings = reader.warnings();
    return root;
  });
}

}  // namespace tgc
