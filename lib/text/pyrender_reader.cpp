#include "lib/text/pyrender_reader.h"

#include <algorithm>

#include "lib/text/graph_info.h"
#include "lib/text/pyrender.h"
#include "lib/text/restore.h"
#include "lib/uop/facts.h"

namespace tgc {
namespace {

// Returns 12 for "c12"; -1 for names of another form.
int64_t number_of_name(std::string_view name) {
  if (name.size() < 2 || name.size() > 8 || name[0] != 'c' || (name[1] == '0' && name.size() > 2)) return -1;
  int64_t n = 0;
  for (char c : name.substr(1)) {
    if (c < '0' || c > '9') return -1;
    n = n * 10 + (c - '0');
  }
  return n;
}

constexpr std::string_view kUOpConst = "UOp.const(";

bool is_reserved(std::string_view name) {
  return name == "UOp" || name == "dtypes" || name == "Ops" || name == "AxisType" || name == "True" ||
         name == "False" || name == "None";
}

}  // namespace

UOp PyrenderReader::read_graph() {
  UOp ast, last;
  has_all_facts_stated_ = has_header(input_text_);
  for (;;) {
    skip_lines();
    if (is_at_end()) break;
    size_t at = position_;
    std::string_view name = read_identifier("a statement");
    if (name == "def") {
      read_function();
      continue;
    }
    last = read_assignment(name, at);
    expect_line_end();
    if (may_have_correction()) last = read_correction(name, last);
    if (name != "ast") continue;
    if (ast) throw_error(at, "a second graph in one text", "one graph; golden records hold several");
    ast = last;
  }
  if (!ast) ast = last;
  if (!ast) throw_error(position_, "the input holds no graph", "an assignment such as 'ast = c5.sink()'");
  const UOp stated = ast;
  if (!nodes_of_open_length_.empty()) ast = infer_dtypes(ast);
  if (has_stand_ins_ || num_unique_constants_) ast = restore_constants(ast);
  if (statement_nodes_ && !(ast == stated)) replace_noted_nodes(stated, ast);
  return ast;
}

// Replaces the nodes in *statement_nodes_, of the graph under `before`, by those of the graph under `after`, if both
// graphs have equally many nodes.
void PyrenderReader::replace_noted_nodes(UOp before, UOp after) {
  const auto from = toposort(before), to = toposort(after);
  if (from.size() != to.size()) return;
  UOpMap<UOp> became(graph_);
  for (size_t i = 0; i < from.size(); i++) became[from[i]] = to[i];
  for (NodePosition& n : *statement_nodes_)
    if (const UOp* u = became.find(n.node)) n.node = *u;
}

UOp PyrenderReader::infer_dtypes(UOp root) {
  std::vector<UOp> open;
  for (auto& [u, line] : nodes_of_open_length_) open.push_back(u);
  root = infer_vector_lengths(root, open);
  for (auto& [u, line] : nodes_of_open_length_)
    if (std::find(open.begin(), open.end(), u) != open.end())
      warnings_.push_back("the dtype of the " + std::string(name_of(u.op())) + " in the line of '" + std::string(line) +
                          "' is not in the text and cannot be inferred from its uses; assuming " +
                          std::string(u.dtype().repr()));
  return root;
}

void PyrenderReader::expect_line_end() {
  skip_blanks_in_line();
  if (peek_char() == ';') position_++;
  else if (!is_at_end() && peek_char() != '\n')
    throw_error(position_, "unexpected " + found_text(position_), "the end of the line");
}

UOp PyrenderReader::read_assignment(std::string_view name, size_t at) {
  skip_blanks_in_line();
  if (peek_char() != '=' || peek_char(1) == '=')
    throw_error(position_, "found " + found_text(position_) + " after the name '" + std::string(name) + "'", "'='");
  position_++;
  list_items_.clear();
  line_name_ = name;
  size_t value_at = (skip_blanks_in_line(), position_);
  record_node_place(at);
  UOp u;
  run_at_position(value_at, [&] { u = as_uop(read_expression(), value_at); });
  if (is_reserved(name)) throw_error(at, "'" + std::string(name) + "' cannot be assigned to");
  define_name(name, u);
  if (statement_nodes_) statement_nodes_->push_back({at, u});
  return u;
}

// Reads the comment that may follow the line of `name`: "# c12: dtypes.float.vec(8)" states c12's dtype, "# c12 =
// UOp(...)" the node. Returns the stated node; `u` without such a comment.
UOp PyrenderReader::read_correction(std::string_view name, UOp u) {
  size_t at = input_text_.find_first_not_of(' ', position_ + 1);
  if (at == input_text_.npos || input_text_.substr(at, 2) != "# " || input_text_.substr(at + 2, name.size()) != name)
    return u;
  at += 2 + name.size();
  std::string_view rest = input_text_.substr(at);
  if (rest.starts_with(": dtypes.")) {
    position_ = at + 2;
    read_identifier("a dtype");
    DType d = dtype();
    u = make_node(at, u.op(), d, u.src(), u.arg(), u.tag());
  } else if (rest.starts_with(" = UOp(Ops.")) {
    position_ = at + 2;
    list_items_.clear();
    size_t value_at = (skip_blanks_in_line(), position_);
    run_at_position(value_at, [&] { u = as_uop(read_expression(), value_at); });
  } else {
    return u;
  }
  expect_line_end();
  define_name(name, u);
  if (statement_nodes_) statement_nodes_->back().node = u;
  return u;
}

void PyrenderReader::assume_names(std::span<const UOp> numbered, std::span<const UOp> kernels) {
  has_all_facts_stated_ = true;
  numbered_nodes_.assign(numbered.begin(), numbered.end());
  kernel_names_.reserve(kernels.size());  // kernel_nodes_ refers to these strings, so they must not move
  for (UOp kernel : kernels) {
    std::string number = std::to_string(kernel_names_.size());
    kernel_nodes_[kernel_names_.emplace_back("k").append(number)] = kernel;
  }
}

UOp PyrenderReader::value_of_line(size_t at) {
  position_ = at;
  list_items_.clear();
  open_brackets_ = 0;
  read_identifier("a name");
  expect_char('=', "after the name");
  return as_uop(read_expression(), at);
}

void PyrenderReader::define_name(std::string_view name, UOp u) {
  int64_t n = number_of_name(name);
  if (n < 0 || size_t(n) > input_text_.size()) {
    named_nodes_[name] = u;
    return;
  }
  if (size_t(n) >= numbered_nodes_.size()) numbered_nodes_.resize(std::max(size_t(n) + 1, numbered_nodes_.size() * 2));
  numbered_nodes_[size_t(n)] = u;
}

UOp PyrenderReader::find_name(std::string_view name) const {
  int64_t n = number_of_name(name);
  if (n >= 0 && size_t(n) <= input_text_.size())
    return size_t(n) < numbered_nodes_.size() ? numbered_nodes_[size_t(n)] : UOp();
  auto it = named_nodes_.find(name);
  return it == named_nodes_.end() ? UOp() : it->second;
}

void PyrenderReader::read_function() {
  NestingLevel nested(*this);
  std::string_view name = read_identifier("a function's name");
  expect_char('(', "after the function's name");
  expect_char(')', "(kernels take no parameters)");
  expect_char(':', "after the parameters");
  function_depth_++;
  auto outer_names = std::move(named_nodes_), outer_kernels = std::move(kernel_nodes_);
  auto outer_numbered = std::move(numbered_nodes_);
  named_nodes_.clear(), kernel_nodes_.clear();
  numbered_nodes_.clear();
  UOp result;
  while (!result) {
    skip_lines();
    if (is_at_end()) throw_error(position_, "the input ends in the function '" + std::string(name) + "'", "'return'");
    size_t at = position_;
    std::string_view word = read_identifier("a statement");
    if (word == "def") {
      read_with_nesting([&] { read_function(); });
      continue;
    }
    if (word == "return") {
      size_t value_at = (skip_blanks_in_line(), position_);
      run_at_position(value_at, [&] { result = as_uop(read_expression(), value_at); });
      expect_line_end();
    } else {
      UOp u = read_assignment(word, at);
      expect_line_end();
      if (may_have_correction()) read_correction(word, u);
    }
  }
  named_nodes_ = std::move(outer_names), kernel_nodes_ = std::move(outer_kernels);
  numbered_nodes_ = std::move(outer_numbered);
  function_depth_--;
  kernel_nodes_[name] = result;
}

bool PyrenderReader::read_numbered_name(Value& out) {
  if (peek_char() != 'c') return false;
  size_t at = position_ + 1, n = 0;
  while (at < position_ + 8 && is_digit(char_at(at))) n = n * 10 + size_t(char_at(at++) - '0');
  if (at == position_ + 1 || is_name_char(char_at(at)) || (char_at(position_ + 1) == '0' && at > position_ + 2))
    return false;
  if (n >= numbered_nodes_.size() || !numbered_nodes_[n]) return false;
  out = {numbered_nodes_[n]};
  position_ = at;
  return true;
}

// Fast path for a name like c12, a number or True, if it is the whole argument or list item.
bool PyrenderReader::read_item_quickly(Value& out) {
  size_t begin = position_;
  if (!read_numbered_name(out)) {
    if (is_digit(peek_char())) out = {Arg(number())};
    else if (peek_char() == 'T' && input_text_.substr(position_, 4) == "True") out = {Arg(true)}, position_ += 4;
    else return false;
  }
  if (peek_char() == ',' || peek_char() == ')') return true;
  position_ = begin;
  return false;
}

const PyrenderReader::InfixOperator* PyrenderReader::peek_infix() const {
  static constexpr InfixOperator kLess{Op::CMPLT, 1, 1}, kMore{Op::CMPLT, 1, 1, false, true},
      kLessOrSame{Op::CMPLT, 1, 2, true, true}, kMoreOrSame{Op::CMPLT, 1, 2, true, false}, kUnlike{Op::CMPNE, 1, 2},
      kOr{Op::OR, 2, 1}, kXor{Op::XOR, 3, 1}, kAnd{Op::AND, 4, 1}, kShl{Op::SHL, 5, 2}, kShr{Op::SHR, 5, 2},
      kAdd{Op::ADD, 6, 1}, kSub{Op::SUB, 6, 1}, kMul{Op::MUL, 7, 1}, kIdiv{Op::IDIV, 7, 2}, kFdiv{Op::FDIV, 7, 1},
      kMod{Op::MOD, 7, 1}, kPow{Op::POW, 9, 2};
  char next = peek_char(1);
  switch (peek_char()) {
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

PyValueReader::Value PyrenderReader::infix_expression(int min_precedence) {
  size_t left_at = (skip_blanks_in_line(), position_);
  Value left = read_unary();
  bool compared = false;
  for (;;) {
    skip_blanks_in_line();
    if (!is_operator(peek_char())) return left;
    const InfixOperator* op = peek_infix();
    if (!op || op->precedence < min_precedence) return left;
    if (op->precedence == 1) {
      if (compared) throw_error(position_, "a chain of comparisons", "brackets");
      compared = true;
    }
    position_ += size_t(op->length);
    size_t right_at = (skip_blanks_in_line(), position_);
    Value right = op->op == Op::POW ? nested_expression(8) : infix_expression(op->precedence + 1);
    left = apply_infix(*op, left, left_at, right, right_at);
  }
}

// Reads the operand x of -x, or y of x**y.
PyValueReader::Value PyrenderReader::nested_expression(int min_precedence) {
  NestingLevel nested(*this);
  return read_with_nesting([&] { return infix_expression(min_precedence); });
}

namespace {
UOp make_binary_op(Op op, bool swap, bool negate, UOp a, UOp b) {
  if (swap) std::swap(a, b);
  UOp out = op == Op::FDIV ? fdiv(a, b) : op == Op::SUB ? a - b : a.alu(op, b);
  return negate ? out.logical_not() : out;
}
}  // namespace

PyValueReader::Value PyrenderReader::apply_infix(const InfixOperator& op, const Value& left, size_t left_at,
                                                 const Value& right, size_t right_at) {
  if (left.is_uop() && right.is_uop()) {
    UOp a = left.arg.uop(), b = right.arg.uop(), u = make_binary_op(op.op, op.swaps_operands, op.negates_result, a, b);
    bool shift = op.op == Op::SHL || op.op == Op::SHR;  // a shift has the dtype of the shifted operand
    return {shift && a.dtype() != b.dtype() && may_infer() ? u.with_dtype(a.dtype()) : u};
  }
  if (left.is_uop() || right.is_uop()) return apply_beside_literal(op, left, left_at, right, right_at);
  return constant_arithmetic(op, as_const(left, left_at), as_const(right, right_at), left_at);
}

PyValueReader::Value PyrenderReader::apply_beside_literal(const InfixOperator& op, const Value& left, size_t left_at,
                                                          const Value& right, size_t right_at) {
  bool uop_is_left = left.is_uop();
  UOp u = uop_is_left ? left.arg.uop() : right.arg.uop();
  Const number = uop_is_left ? as_const(right, right_at) : as_const(left, left_at);
  Value out;
  run_at_position(left_at, [&] {
    if (uop_is_left && op.op == Op::SUB) return void(out = {u + u.const_like(py_neg(number))});
    // tinygrad folds an op of two constants, unless one has a unique number: so `u` has such a number
    if (u.is_const() && u.num_src() == 0 && may_infer()) u = make_local_unique_constant(u, num_unique_constants_++);
    UOp c = constant_beside(u, number);
    out = {make_binary_op(op.op, op.swaps_operands, op.negates_result, uop_is_left ? u : c, uop_is_left ? c : u)};
  });
  return out;
}

// Returns the constant for a bare number beside `u`, on u's device; a stand-in (restore.h) if the device must be
// inferred.
UOp PyrenderReader::constant_beside(UOp u, Const value) {
  bool known = !device_of(u).is_none() && !is_stand_in(u);
  if (known || !may_infer()) return u.const_like(value);
  has_stand_ins_ = true;
  return constant_on_unknown_device(graph_.constant(u.dtype(), value));
}

static int64_t bit_length_of(Const v) { return std::max<int64_t>(v.as_int().bit_length(), 1); }

PyValueReader::Value PyrenderReader::constant_arithmetic(const InfixOperator& op, Const a, Const b, size_t at) {
  Value out;
  run_at_position(at, [&] {
    bool integral = a.is_integral() && b.is_integral();
    if (op.op == Op::ADD) out = {Arg(py_add(a, b))};
    else if (op.op == Op::SUB) out = {Arg(py_sub(a, b))};
    else if (op.op == Op::MUL) out = {Arg(py_mul(a, b))};
    else if (op.op == Op::IDIV && integral) out = {Arg(floor_div(a.as_int(), b.as_int()))};
    else if (op.op == Op::POW && integral && b.as_int() >= 0 &&
             b.as_int() <= limit_value(Limit::IntBits) / bit_length_of(a) + 1)
      out = {Arg(pow(a.as_int(), uint32_t(b.as_int().small_value())))};
    else if (op.op == Op::FDIV && b.to_double() == 0) throw_error(at, "a division by zero");
    else if (op.op == Op::FDIV) out = {Arg(a.to_double() / b.to_double())};
    else throw_error(at, "this operation on constants is not supported");
    if (out.arg.kind() == Arg::Kind::BigInt) check_limit(Limit::IntBits, bit_length_of(out.arg.to_const()));
  });
  return out;
}

PyValueReader::Value PyrenderReader::read_unary() {
  skip_blanks_in_line();
  if (Value v; read_numbered_name(v)) return read_postfix(v);
  if (input_text_.substr(position_, kUOpConst.size()) == kUOpConst) {
    size_t at = position_;
    position_ += kUOpConst.size() - 1;
    return read_postfix(read_constant(at));
  }
  if (peek_char() != '-' && peek_char() != '+') return read_postfix(read_primary());
  bool negative = peek_char() == '-';
  size_t at = position_++;
  Value v = nested_expression(8);
  if (!negative) return v;
  if (v.is_uop()) return {-v.arg.uop()};
  return {Arg(py_neg(as_const(v, at)))};
}

PyValueReader::Value PyrenderReader::read_other_name(std::string_view name, size_t at) {
  if (name == "UOp") {
    skip_blanks_in_line();
    return peek_char() == '(' ? read_uop_call(at) : read_uop_static(at);
  }
  if (UOp u = find_name(name)) return {u};
  if (auto it = kernel_nodes_.find(name); it != kernel_nodes_.end()) {
    expect_char('(', "after the kernel's name");
    expect_char(')', "(kernels take no arguments)");
    return {it->second};
  }
  throw_error(at, "unknown name '" + std::string(name) + "'", "a name assigned above, UOp, dtypes, ...");
}

Result<UOp> read_pyrender(Graph& graph, std::string_view text, std::string_view file, NodePlaces* places,
                          std::vector<std::string>* warnings) {
  return catch_failures([&] {
    if (graph.is_foreign()) return open_pyrender_reader(graph, text, file, places)->read_graph();
    PyrenderReader reader(graph, text, file, places);
    UOp root = reader.read_graph();
    if (warnings) *warnings = reader.warnings();
    return root;
  });
}

}  // namespace tgc
