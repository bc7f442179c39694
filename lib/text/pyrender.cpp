#include "lib/text/pyrender.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "lib/support/deep_stack.h"
#include "lib/support/limits.h"
#include "lib/text/py_values.h"
#include "lib/text/pyrender_writer.h"
#include "lib/uop/facts.h"
#include "lib/uop/render.h"

namespace tgc {

namespace {

constexpr OpSet kNeverNamed{Op::CONST, Op::VCONST, Op::DEVICE};
constexpr OpSet kAlwaysNamed{Op::DEFINE_GLOBAL, Op::LOAD,   Op::SPECIAL, Op::RANGE, Op::CONTIGUOUS, Op::VECTORIZE,
                             Op::BUFFER,        Op::COPY,   Op::KERNEL,  Op::WHERE, Op::END,        Op::ASSIGN};
constexpr OpSet kMethods{Op::SINK,  Op::END,       Op::STORE, Op::LOAD, Op::UNIQUE, Op::SQRT,       Op::INDEX,
                         Op::REDUCE, Op::AFTER,    Op::THREEFRY, Op::WHERE, Op::RECIPROCAL, Op::EXP2, Op::LOG2,
                         Op::SIN,   Op::CONTIGUOUS, Op::BARRIER, Op::ASSIGN, Op::DETACH};
constexpr OpSet kInfix{Op::ADD,   Op::IDIV,  Op::MOD, Op::SHL, Op::SHR, Op::MUL,
                       Op::CMPLT, Op::CMPNE, Op::AND, Op::OR,  Op::XOR};

bool holds_graph(Arg a) {
  RareArgFeatures odd;
  odd.add_arg(a);
  return odd.has_graph;
}

bool is_const_on_device(UOp u) { return u.is(Op::CONST) && u.num_src() == 1 && u.src(0).is(Op::DEVICE); }
bool is_infix(UOp u) { return u.in(kInfix) && u.num_src() == 2; }

}  // namespace

std::string_view method_name(Op op) {
  static const auto kLower = [] {
    std::array<std::string, kNumOps> names;
    for (int i = 0; i < kNumOps; i++)
      for (char c : name_of(Op(i))) names[size_t(i)] += char(c >= 'A' && c <= 'Z' ? c | 32 : c);
    return names;
  }();
  return kLower[size_t(op)];
}

void PyrenderWriter::write_lines() {
  mark_named_nodes(root_node_, ordered_nodes_, node_texts_, {{Op::REDUCE, Op::REDUCE_AXIS}, kNeverNamed, kAlwaysNamed});
  const RareArgFeatures odd = RareArgFeatures::of_nodes(ordered_nodes_);
  has_rare_arg_text_ = odd.has_parenthesis, has_graphs_ = odd.has_graph;
  for (size_t i = 0; i < ordered_nodes_.size(); i++) {
    UOp u = ordered_nodes_[i];
    NodeText& info = node_texts_[u.id()];
    if (!info.has_line && !u.in(kNeverNamed)) {
      info.is_inlined = true;
      continue;
    }
    info.text_begin = piece_text_.size();
    if (info.has_line) piece_text_.put('c'), piece_text_.put_integer(int64_t(i));
    else write_piece(u);
    info.text_size = uint32_t(piece_text_.size() - info.text_begin);
    if (info.has_line) write_line(u, info);
  }
}

inline void PyrenderWriter::write_line(UOp u, const NodeText& info) {
  if (line_text_.size()) line_text_.put('\n');
  if (should_keep_lines_) line_begins_.emplace_back(u, line_text_.size());
  if (u == root_node_) line_text_.put("ast");
  else line_text_.put(piece_text_, info.text_begin, info.text_size);
  line_text_.put(" = ");
  size_t begin = line_text_.size();
  output_ = &line_text_;
  write_expression(u, u.tag().is_none() && !has_rare_arg_text_);
  tag(u);
  if (has_rare_arg_text_ && strip_parens(line_text_.view().substr(begin)).size() + begin < line_text_.size())
    line_text_.drop_outer_bytes(begin);
}

inline void PyrenderWriter::write_piece(UOp u) {
  output_ = &piece_text_;
  write_expression(u, false);
  tag(u);
}

// Returns the number of the function that returns `ast`, such as 0 for k0(). The first call for `ast` writes the
// function to kernels_text_.
size_t PyrenderWriter::kernel_number(UOp ast) {
  auto [known, is_new] = kernel_numbers_.try_emplace(ast.id(), kernel_graphs_.size());
  size_t number = known->second;
  if (!is_new) return number;
  kernel_graphs_.push_back(ast);
  if (function_level_ == kMaxFunctionLevels)
    throw Failure(Diag{.message = "graphs in arguments nest more than " + std::to_string(kMaxFunctionLevels) + " deep",
                       .expected = "--format=json"});
  std::string body = call_with_stack([&] { return text_of_kernel(ast); });
  check_limit(Limit::InputBytes, int64_t(kernels_text_.size() + body.size()));  // a nesting level may double the size
  kernels_text_ += "def k" + std::to_string(number) + "():\n  ";
  for (char c : body) c == '\n' ? kernels_text_ += "\n  " : kernels_text_ += c;
  kernels_text_ += "\n  return ast\n\n";
  return number;
}

inline void PyrenderWriter::write_kernel_name(UOp ast) {
  put_text('k'), output_->put_integer(int64_t(kernel_number(ast))), put_text("()");
}

inline void PyrenderWriter::src(UOp u) {
  if (u.id() < node_texts_.size()) [[likely]]
    if (const NodeText& info = node_texts_[u.id()]; info.text_size && !info.is_plain) [[likely]]
      return output_->put(piece_text_, info.text_begin, info.text_size);
  node_text_of(u);  // throws Failure if `u` is not below the root
  write_nested(u, false);
}
inline void PyrenderWriter::write_nested(UOp u, bool bare) {
  if (++expression_depth_ % kStackCheckLevels) {
    write_inlined_node(u, bare);
  } else {
    check_limit(Limit::Nesting, expression_depth_);
    call_with_stack([&] { write_inlined_node(u, bare); });
  }
  expression_depth_--;
}
void PyrenderWriter::write_inlined_node(UOp u, bool bare) {
  node_texts_[u.id()].is_plain ? write_whole_node(u, complete_repr(u.dtype())) : write_expression(u, bare);
  tag(u);
}
inline const PyrenderWriter::NodeText& PyrenderWriter::node_text_of(UOp u) const {
  if (u.id() < node_texts_.size())
    if (const NodeText& info = node_texts_[u.id()]; info.text_size || info.is_inlined) return info;
  throw Failure("Ops." + std::string(name_of(u.op())) + " is not below the root");
}

inline void PyrenderWriter::repr(Arg a) {
  if (a.kind() == Arg::Kind::Int) return output_->put_integer(a.small_int());
  if (has_graphs_) {
    if (a.is_uop()) return write_kernel_name(a.uop());
    if (holds_graph(a)) return write_items(a);
  }
  scratch_text_.clear();
  a.append_repr(scratch_text_);
  put_text(scratch_text_);
}
void PyrenderWriter::write_items(Arg a) {
  bool is_record = a.kind() == Arg::Kind::Record;
  if (is_record) put_text(name_of(a.record_class()));
  put_text('(');
  for (size_t i = 0; i < a.items().size(); i++) {
    if (i) put_text(", ");
    if (is_record) put_text(fields_of(a.record_class())[i]), put_text('=');
    repr(a[i]);
  }
  put_text(!is_record && a.items().size() == 1 ? ",)" : ")");
}
inline void PyrenderWriter::write_size(Sint s) { s.is_uop() ? src(s.uop()) : repr(s.arg()); }

inline void PyrenderWriter::write_movement_argument(UOp u) {
  if (u.is(Op::PERMUTE)) return repr(u.arg());
  if (u.is(Op::FLIP)) {
    std::vector<Arg> axes;
    for (size_t i = 0; i < u.arg().items().size(); i++)
      if (u.arg()[i].as_bool()) axes.push_back(int64_t(i));
    return repr(u.graph().tuple(axes));
  }
  put_text('(');
  size_t n = 0;
  if (u.in({Op::RESHAPE, Op::EXPAND})) {
    for (Sint s : marg_shape(u)) {
      if (n++) put_text(',');
      write_size(s);
    }
  } else {
    for (auto [a, b] : marg_pairs(u)) {
      put_text(n++ ? ",(" : "(");
      write_size(a);
      put_text(", ");
      write_size(b);
      put_text(')');
    }
  }
  put_text(n == 1 ? ",)" : ")");
}

inline bool PyrenderWriter::is_printed_as_number(UOp u) const {
  return is_const_on_device(u) && !node_texts_[u.id()].is_plain;
}
inline void PyrenderWriter::write_operand(UOp u, bool strip) {
  const NodeText& info = node_text_of(u);
  bool bracketed = strip && info.is_inlined && !info.is_plain;
  if (bracketed && has_rare_arg_text_) {  // count parentheses, also those in strings, as tinygrad's strip_parens does
    size_t begin = output_->size();
    write_nested(u, false);
    if (strip_parens(output_->view().substr(begin)).size() + begin < output_->size()) output_->drop_outer_bytes(begin);
  } else if (bracketed && u.tag().is_none() && is_infix(u)) {
    write_nested(u, true);
  } else {
    src(u);
  }
}

inline void PyrenderWriter::write_constant(UOp u) {
  bool unique = u.num_src() == 2 && u.src(0).is(Op::DEVICE) && u.src(1).is(Op::UNIQUE);
  put_text(unique ? "UOp.unique_const(" : "UOp.const("), dtype(u.dtype()), put_text(", "), str(u.arg());
  if (unique || is_const_on_device(u)) put_text(", device="), repr(u.src(0).arg());
  if (unique) put_text(", unique="), str(u.src(1).arg());
  put_text(')');
}

inline void PyrenderWriter::write_index(UOp u) {
  src(u.src(0)), put_text(".index("), src(u.src(1)), put_text(", ");
  if (u.num_src() > 2) src(u.src(2)), put_text(", ");
  if (u.src(0).dtype() != u.dtype()) put_text("dtype="), dtype(u.dtype()), put_text(')');
  else put_text("ptr=True)");
}

inline bool PyrenderWriter::write_special_form(UOp u) {
  switch (u.op()) {
    case Op::CONST: return write_constant(u), true;
    case Op::DEFINE_VAR:
      if (u.num_src() != 0) return false;
      return write_variable(u, dtypes::index), true;
    case Op::CAST:
    case Op::BITCAST: return write_cast(u), true;
    case Op::SPECIAL:
      if (u.num_src() != 1 || !u.src(0).is_const()) return false;
      return write_special(u), true;
    case Op::BUFFER:
      if (u.num_src() != 2 || !u.src(0).is(Op::UNIQUE) || !u.src(1).is(Op::DEVICE)) return false;
      put_text("UOp.new_buffer("), repr(u.src(1).arg()), put_text(", "), put_text(size_of(u).str()), put_text(", ");
      dtype(u.dtype()), put_text(", "), str(u.src(0).arg()), put_text(')');
      return true;
    case Op::COPY:
      if (u.num_src() != 2 || !u.src(1).is(Op::DEVICE)) return false;
      src(u.src(0)), put_text(".copy_to_device("), repr(u.src(1).arg()), put_text(')');
      return true;
    case Op::ENCDEC:
      src(u.src(0)), put_text(".encdec(");
      for (UOp s : u.src().subspan(1)) src(s), put_text(", ");
      put_text("arg="), repr(u.arg()), put_text(')');
      return true;
    case Op::REDUCE_AXIS:
      src(u.src(0)), put_text(".r("), str(u.arg()[0]), put_text(", "), str(u.arg()[1]), put_text(')');
      return true;
    case Op::RANGE: return u.num_src() >= 1 && u.src(0).is_const() ? write_range(u, dtypes::index), true : false;
    case Op::INDEX: return u.num_src() >= 2 && u.src(0).dtype().base() != u.dtype() ? write_index(u), true : false;
    case Op::RESHAPE: case Op::PERMUTE: case Op::EXPAND: case Op::PAD: case Op::SHRINK: case Op::FLIP:
      if (should_write_whole_movements_) return write_whole_node(u, u.dtype().repr()), true;
      src(u.src(0)), put_text('.');
      if (u.is(Op::RESHAPE) && is_same_shape(shape_of(u.src(0)), shape_of(u))) put_text("forced_");
      put_text(method_name(u.op())), put_text('('), write_movement_argument(u), put_text(')');
      return true;
    default: return false;
  }
}

inline void PyrenderWriter::write_kernel_arg(Arg kernel) {
  put_text("Kernel("), write_kernel_name(kernel[0].uop()), put_text(", "), str(kernel[1]), put_text(')');
}

inline void PyrenderWriter::write_whole_node(UOp u, std::string_view dtype_text) {
  put_text("UOp(Ops."), put_text(name_of(u.op())), put_text(", "), put_text(dtype_text), put_text(", "),
      write_sources(u.src());
  if (!u.arg().is_none()) put_text(", "), u.is(Op::KERNEL) ? write_kernel_arg(u.arg()) : repr(u.arg());
  put_text(')');
}

// If `bare` is true, writes an infix expression without parentheses around it.
void PyrenderWriter::write_expression(UOp u, bool bare) {
  if (is_infix(u)) return write_infix(u, bare);
  if (write_special_form(u)) return;
  if (u.in(kMethods)) return write_method(u);
  if (u.is(Op::KERNEL))
    put_text("UOp(Ops.KERNEL, src="), write_sources(u.src()), put_text(", arg="), write_kernel_arg(u.arg()),
        put_text(')');
  else write_whole_node(u, u.dtype().repr());
}

std::string PyrenderWriter::expression_of(UOp u) {
  TextBuffer out;
  output_ = &out;
  write_inlined_node(u, false);
  return out.str();
}

Result<std::string> pyrender(UOp root) {
  if (root.graph().is_foreign()) return pyrender_open_graph(root).text;
  return catch_failures([&] { return PyrenderWriter(root).write(); });
}

namespace {

// Ops whose text may show more than the reprs of the nodes, such as shapes, sizes or graphs.
constexpr OpSet kShowsMore{Op::RESHAPE, Op::EXPAND, Op::PERMUTE, Op::PAD,    Op::SHRINK,      Op::FLIP,
                           Op::BUFFER,  Op::COPY,   Op::ENCDEC,  Op::KERNEL, Op::REDUCE_AXIS, Op::OTHER};

bool is_number(Arg a) { return a.is_const() && !a.is_str(); }
bool is_word(Arg a) {
  auto is_part = [](char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)); };
  return a.is_str() && std::ranges::all_of(a.text(), is_part);
}

bool has_text_implied_by_repr(UOp u) {
  if (u.in(kShowsMore) || u.dtype().repr().find("image") != std::string_view::npos) return false;
  const auto items = u.arg().is_tuple() ? u.arg().items() : std::span<const Arg>();
  if (u.is(Op::CONST)) return u.num_src() == 0 && is_number(u.arg());
  if (u.is(Op::RANGE)) return items.size() >= 2;
  if (u.is(Op::DEFINE_VAR))
    return items.size() == 3 && is_word(items[0]) && is_number(items[1]) && is_number(items[2]);
  return true;
}

}  // namespace

bool is_text_implied_by_reprs(UOp root) {
  if (root.graph().is_foreign()) return false;
  const std::vector<UOp> nodes = toposort(root);
  const RareArgFeatures odd = RareArgFeatures::of_nodes(nodes);
  return !odd.has_parenthesis && !odd.has_graph && std::ranges::all_of(nodes, has_text_implied_by_repr);
}

namespace {

class NodeLinesWriter : public PyrenderWriter {
 public:
  explicit NodeLinesWriter(UOp root) : PyrenderWriter(root) { should_keep_lines_ = true; }

  TextWithNodeLines write_with_node_lines() {
    TextWithNodeLines out{write(), {}};
    size_t counted = 0;
    uint32_t line = 0;
    for (auto [u, begin] : line_begins_) {
      size_t at = kernels_text_.size() + begin;
      line += uint32_t(std::count(out.text.begin() + long(counted), out.text.begin() + long(at), '\n'));
      counted = at;
      out.node_lines.emplace_back(u, line);
    }
    return out;
  }
};

}  // namespace

Result<TextWithNodeLines> pyrender_with_node_lines(UOp root) {
  if (root.graph().is_foreign()) {
    OpenGraphText open = pyrender_open_graph(root);
    TextWithNodeLines out{std::move(open.text), {}};
    for (UOp u : open.line_nodes) out.node_lines.emplace_back(u, uint32_t(out.node_lines.size()));
    return out;
  }
  return catch_failures([&] { return NodeLinesWriter(root).write_with_node_lines(); });
}

}  // namespace tgc
