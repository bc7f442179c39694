#include "lib/text/pyrender.h"

#include <algorithm>
#include <array>

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
  odd.add(a);
  return odd.graph;
}

bool on_device(UOp u) { return u.is(Op::CONST) && u.num_src() == 1 && u.src(0).is(Op::DEVICE); }
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
  mark_named(root_, order_, info_, {{Op::REDUCE, Op::REDUCE_AXIS}, kNeverNamed, kAlwaysNamed});
  const RareArgFeatures odd = RareArgFeatures::of(order_);
  odd_text_ = odd.text, holds_graphs_ = odd.graph;
  for (size_t i = 0; i < order_.size(); i++) {
    UOp u = order_[i];
    Info& info = info_[u.id()];
    if (!info.has_line && !u.in(kNeverNamed)) {
      info.inlined = true;
      continue;
    }
    info.begin = pieces_.size();
    if (info.has_line) pieces_.put('c'), pieces_.put_int(int64_t(i));
    else piece(u);
    info.size = uint32_t(pieces_.size() - info.begin);
    if (info.has_line) line(u, info);
  }
}

// Writes the line "c12 = ..." of `u`, without the outermost parentheses.
inline void PyrenderWriter::line(UOp u, const Info& info) {
  if (lines_.size()) lines_.put('\n');
  if (keeps_lines_) line_begins_.emplace_back(u, lines_.size());
  if (u == root_) lines_.put("ast");
  else lines_.put(pieces_, info.begin, info.size);
  lines_.put(" = ");
  size_t begin = lines_.size();
  to_ = &lines_;
  expression(u, u.tag().is_none() && !odd_text_);
  tag(u);
  if (odd_text_ && strip_parens(lines_.view().substr(begin)).size() + begin < lines_.size()) lines_.drop_ends(begin);
}

inline void PyrenderWriter::piece(UOp u) {
  to_ = &pieces_;
  expression(u, false);
  tag(u);
}

// Returns the number of the function that builds the kernel `ast`: 3 for k3. On the first call for `ast`, writes the
// function to kernels_text_.
size_t PyrenderWriter::kernel_number(UOp ast) {
  auto [known, is_new] = kernel_numbers_.try_emplace(ast.id(), kernels_.size());
  size_t number = known->second;
  if (!is_new) return number;
  kernels_.push_back(ast);
  if (level_ == kMaxLevels)
    throw Failure(Diag{.message = "graphs in arguments nest more than " + std::to_string(kMaxLevels) + " deep",
                       .expected = "--format=json"});
  std::string body = with_stack([&] { return text_of_kernel(ast); });
  check_limit(Limit::InputBytes, int64_t(kernels_text_.size() + body.size()));  // nested functions may double the size
  kernels_text_ += "def k" + std::to_string(number) + "():\n  ";
  for (char c : body) c == '\n' ? kernels_text_ += "\n  " : kernels_text_ += c;
  kernels_text_ += "\n  return ast\n\n";
  return number;
}

// Writes the call of a kernel's function, "k0()".
inline void PyrenderWriter::kernel_name(UOp ast) {
  put('k'), to_->put_int(int64_t(kernel_number(ast))), put("()");
}

// ---- parts of expressions

// Writes the source `u`: its name or its inline expression.
inline void PyrenderWriter::src(UOp u) {
  if (u.id() < info_.size()) [[likely]]
    if (const Info& info = info_[u.id()]; info.size && !info.plain) [[likely]]
      return to_->put(pieces_, info.begin, info.size);
  info_of(u);  // throws Failure if `u` is not below the root
  inlined(u, false);
}
inline void PyrenderWriter::inlined(UOp u, bool bare) {
  if (++depth_ % kStackCheck) {
    write_inlined(u, bare);
  } else {
    check_limit(Limit::Nesting, depth_);
    with_stack([&] { write_inlined(u, bare); });
  }
  depth_--;
}
void PyrenderWriter::write_inlined(UOp u, bool bare) {
  info_[u.id()].plain ? whole(u, complete_repr(u.dtype())) : expression(u, bare);
  tag(u);
}
inline const PyrenderWriter::Info& PyrenderWriter::info_of(UOp u) const {
  if (u.id() < info_.size())
    if (const Info& info = info_[u.id()]; info.size || info.inlined) return info;
  throw Failure("Ops." + std::string(name_of(u.op())) + " is not below the root");
}

inline void PyrenderWriter::repr(Arg a) {
  if (a.kind() == Arg::Kind::Int) return to_->put_int(a.small_int());
  if (holds_graphs_) {
    if (a.is_uop()) return kernel_name(a.uop());
    if (holds_graph(a)) return items_with_graphs(a);
  }
  scratch_.clear();
  a.append_repr(scratch_);
  put(scratch_);
}
// Writes a tuple or a dataclass that contains UOps.
void PyrenderWriter::items_with_graphs(Arg a) {
  bool is_record = a.kind() == Arg::Kind::Record;
  if (is_record) put(name_of(a.record_class()));
  put('(');
  for (size_t i = 0; i < a.items().size(); i++) {
    if (i) put(", ");
    if (is_record) put(fields_of(a.record_class())[i]), put('=');
    repr(a[i]);
  }
  put(!is_record && a.items().size() == 1 ? ",)" : ")");
}
inline void PyrenderWriter::size(Sint s) { s.is_uop() ? src(s.uop()) : repr(s.arg()); }

inline void PyrenderWriter::movement_argument(UOp u) {
  if (u.is(Op::PERMUTE)) return repr(u.arg());
  if (u.is(Op::FLIP)) {
    std::vector<Arg> axes;
    for (size_t i = 0; i < u.arg().items().size(); i++)
      if (u.arg()[i].as_bool()) axes.push_back(int64_t(i));
    return repr(u.graph().tuple(axes));
  }
  put('(');
  size_t n = 0;
  if (u.in({Op::RESHAPE, Op::EXPAND})) {
    for (Sint s : marg_shape(u)) {
      if (n++) put(',');
      size(s);
    }
  } else {
    for (auto [a, b] : marg_pairs(u)) {
      put(n++ ? ",(" : "(");
      size(a);
      put(", ");
      size(b);
      put(')');
    }
  }
  put(n == 1 ? ",)" : ")");
}

inline bool PyrenderWriter::is_printed_as_number(UOp u) const { return on_device(u) && !info_[u.id()].plain; }
inline void PyrenderWriter::operand(UOp u, bool strip) {
  const Info& info = info_of(u);
  bool bracketed = strip && info.inlined && !info.plain;
  if (bracketed && odd_text_) {  // count parentheses, also those in strings, as tinygrad's strip_parens does
    size_t begin = to_->size();
    inlined(u, false);
    if (strip_parens(to_->view().substr(begin)).size() + begin < to_->size()) to_->drop_ends(begin);
  } else if (bracketed && u.tag().is_none() && is_infix(u)) {
    inlined(u, true);
  } else {
    src(u);
  }
}

inline void PyrenderWriter::constant(UOp u) {
  bool unique = u.num_src() == 2 && u.src(0).is(Op::DEVICE) && u.src(1).is(Op::UNIQUE);
  put(unique ? "UOp.unique_const(" : "UOp.const("), dtype(u.dtype()), put(", "), str(u.arg());
  if (unique || on_device(u)) put(", device="), repr(u.src(0).arg());
  if (unique) put(", unique="), str(u.src(1).arg());
  put(')');
}

inline void PyrenderWriter::index(UOp u) {
  src(u.src(0)), put(".index("), src(u.src(1)), put(", ");
  if (u.num_src() > 2) src(u.src(2)), put(", ");
  if (u.src(0).dtype() != u.dtype()) put("dtype="), dtype(u.dtype()), put(')');
  else put("ptr=True)");
}

// Writes `u` if its op has a syntax of its own, such as UOp.range(...) for RANGE. Otherwise returns false.
inline bool PyrenderWriter::special_form(UOp u) {
  switch (u.op()) {
    case Op::CONST: return constant(u), true;
    case Op::DEFINE_VAR:
      if (u.num_src() != 0) return false;
      return variable(u, dtypes::index), true;
    case Op::CAST:
    case Op::BITCAST: return cast(u), true;
    case Op::SPECIAL:
      if (u.num_src() != 1 || !u.src(0).is_const()) return false;
      return special(u), true;
    case Op::BUFFER:
      if (u.num_src() != 2 || !u.src(0).is(Op::UNIQUE) || !u.src(1).is(Op::DEVICE)) return false;
      put("UOp.new_buffer("), repr(u.src(1).arg()), put(", "), put(size_of(u).str()), put(", ");
      dtype(u.dtype()), put(", "), str(u.src(0).arg()), put(')');
      return true;
    case Op::COPY:
      if (u.num_src() != 2 || !u.src(1).is(Op::DEVICE)) return false;
      src(u.src(0)), put(".copy_to_device("), repr(u.src(1).arg()), put(')');
      return true;
    case Op::ENCDEC:
      src(u.src(0)), put(".encdec(");
      for (UOp s : u.src().subspan(1)) src(s), put(", ");
      put("arg="), repr(u.arg()), put(')');
      return true;
    case Op::REDUCE_AXIS: src(u.src(0)), put(".r("), str(u.arg()[0]), put(", "), str(u.arg()[1]), put(')'); return true;
    case Op::RANGE: return u.num_src() >= 1 && u.src(0).is_const() ? range(u, dtypes::index), true : false;
    case Op::INDEX: return u.num_src() >= 2 && u.src(0).dtype().base() != u.dtype() ? index(u), true : false;
    case Op::RESHAPE: case Op::PERMUTE: case Op::EXPAND: case Op::PAD: case Op::SHRINK: case Op::FLIP:
      if (whole_movements_) return whole(u, u.dtype().repr()), true;
      src(u.src(0)), put('.');
      if (u.is(Op::RESHAPE) && same_shape(shape_of(u.src(0)), shape_of(u))) put("forced_");
      put(method_name(u.op())), put('('), movement_argument(u), put(')');
      return true;
    default: return false;
  }
}

// Writes `kernel`, the arg of a KERNEL node, such as Kernel(k0(), ()).
inline void PyrenderWriter::kernel_arg(Arg kernel) {
  put("Kernel("), kernel_name(kernel[0].uop()), put(", "), str(kernel[1]), put(')');
}

// Writes UOp(Ops.X, dtype, (sources), arg), a syntax that every node has.
inline void PyrenderWriter::whole(UOp u, std::string_view dtype_text) {
  put("UOp(Ops."), put(name_of(u.op())), put(", "), put(dtype_text), put(", "), sources(u.src());
  if (!u.arg().is_none()) put(", "), u.is(Op::KERNEL) ? kernel_arg(u.arg()) : repr(u.arg());
  put(')');
}

// Writes the expression of `u`. If `bare` is true, an infix expression is written without parentheses around it.
void PyrenderWriter::expression(UOp u, bool bare) {
  if (is_infix(u)) return infix(u, bare);
  if (special_form(u)) return;
  if (u.in(kMethods)) return method(u);
  if (u.is(Op::KERNEL)) put("UOp(Ops.KERNEL, src="), sources(u.src()), put(", arg="), kernel_arg(u.arg()), put(')');
  else whole(u, u.dtype().repr());
}

std::string PyrenderWriter::expression_of(UOp u) {
  TextBuffer out;
  to_ = &out;
  write_inlined(u, false);
  return out.str();
}

Result<std::string> pyrender(UOp root) {
  if (root.graph().is_foreign()) return pyrender_open(root).text;
  return catch_failures([&] { return PyrenderWriter(root).write(); });
}

namespace {

class PlacesWriter : public PyrenderWriter {
 public:
  explicit PlacesWriter(UOp root) : PyrenderWriter(root) { keeps_lines_ = true; }

  PlacedText write_placed() {
    PlacedText out{write(), {}};
    size_t counted = 0;
    uint32_t line = 0;
    for (auto [u, begin] : line_begins_) {
      size_t at = kernels_text_.size() + begin;
      line += uint32_t(std::count(out.text.begin() + long(counted), out.text.begin() + long(at), '\n'));
      counted = at;
      out.lines.emplace_back(u, line);
    }
    return out;
  }
};

}  // namespace

Result<PlacedText> pyrender_with_places(UOp root) {
  if (root.graph().is_foreign()) {
    OpenText open = pyrender_open(root);
    PlacedText out{std::move(open.text), {}};
    for (UOp u : open.lines) out.lines.emplace_back(u, uint32_t(out.lines.size()));
    return out;
  }
  return catch_failures([&] { return PlacesWriter(root).write_placed(); });
}

}  // namespace tgc
