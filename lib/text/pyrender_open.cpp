#include "lib/text/pyrender.h"
#include "lib/text/pyrender_reader.h"

#include <algorithm>

#include "lib/text/pyrender_writer.h"
#include "lib/text/repr.h"
#include "lib/text/restore.h"
#include "lib/uop/render.h"

namespace tgc {
namespace {

constexpr OpSet kNeverNamed{Op::CONST, Op::DEVICE};
constexpr OpSet kAlwaysNamed{Op::PARAM,  Op::LOAD, Op::SPECIAL, Op::RANGE,    Op::CONTIGUOUS, Op::STACK,
                             Op::BUFFER, Op::COPY, Op::CALL,    Op::FUNCTION, Op::WHERE,      Op::END};
constexpr OpSet kMethods{Op::SINK,   Op::END,        Op::STORE,    Op::LOAD,       Op::SQRT, Op::INDEX,
                         Op::REDUCE, Op::AFTER,      Op::THREEFRY, Op::RECIPROCAL, Op::EXP2, Op::LOG2,
                         Op::SIN,    Op::CONTIGUOUS, Op::BARRIER,  Op::DETACH};
constexpr OpSet kInfix{Op::ADD,   Op::FLOORDIV, Op::FLOORMOD, Op::SHL, Op::SHR, Op::MUL,
                       Op::CMPLT, Op::CMPNE,    Op::AND,      Op::OR,  Op::XOR};
constexpr size_t kMaxInlined = 100;

UOp movement_base(UOp u) {
  while (u.num_src() && (u.in(ops::Movement) || u.is(Op::DETACH))) u = u.src(0);
  return u;
}

// Returns a field of a ParamArg, or the positional value at index `place`; None if there is none.
Arg param_field(Arg param, std::string_view name, size_t place = SIZE_MAX) {
  if (!param.is(RecordClass::Open)) return {};
  RecordView view(param);
  for (size_t i = 0; i < view.size(); i++)
    if (view.field(i) == name || (view.field(i).empty() && i == place)) return view.values()[i];
  return {};
}

// Stores the name or expression of each node once, in pieces_, and copies it into its users' texts.
class OpenPyrenderWriter : PyrenderFormWriter<OpenPyrenderWriter> {
 public:
  explicit OpenPyrenderWriter(UOp root)
      : root_(root),
        graph_(root.graph()),
        order_(toposort(root)),
        node_texts_(root.id() + 1),
        is_0_13_(graph_.release() == Release::v0_13),
        is_known_release_(graph_.release() >= Release::v0_13 && graph_.release() != Release::Other) {}

  OpenGraphText write() {
    scan_uses();
    OpenGraphText out;
    for (size_t i = 0; i < order_.size(); i++) {
      UOp u = order_[i];
      NodeText& info = node_texts_[u.id()];
      uint32_t deepest = 0;
      for (UOp s : u.src()) deepest = std::max(deepest, node_texts_[s.id()].depth);
      if (deepest + 1 > kMaxInlined) info.has_line = true;
      if (!info.has_line) {
        info.depth = deepest + 1;
        write_piece(u, [&] { info.is_bracketed = write_expression(u, false) && u.tag().is_none(); });
        if (has_rare_arg_text_) info.is_bracketed = strip_parens(text(info)).size() < info.size;
        continue;
      }
      info.begin = pieces_.size();
      if (u == root_) pieces_.put("ast");
      else pieces_.put('c'), pieces_.put_integer(int64_t(i));
      info.size = pieces_.size() - info.begin;
      out.line_nodes.push_back(u);
      write_line(u, info);
    }
    out.text = lines_.str();
    out.has_no_original = lacks_original_;
    return out;
  }

  // Reads each line back into the same Graph, and adds a comment if the line gives a different node.
  CompleteText write_complete() {
    const OpenGraphText plain = write();
    const std::string_view text = plain.text;
    CompleteText out{"", plain.has_no_original || release_in_text(text) != graph_.release()};
    auto reader = open_pyrender_reader(graph_, text, {}, nullptr);
    reader->assume_names(order_, {});
    for (size_t i = 0; i < plain.line_nodes.size(); i++) {
      UOp u = plain.line_nodes[i];
      size_t begin = line_begins_[i], end = i + 1 < line_begins_.size() ? line_begins_[i + 1] - 1 : text.size();
      out.text.append(i ? "\n" : "").append(text.substr(begin, end - begin));
      auto read = catch_failures([&] { return reader->value_of_line(begin); });
      if (read && *read == u) continue;
      out.text.append("\n# ").append(this->text(node_texts_[u.id()])).append(" = ");
      write_plain_pieces(u);
      out.text.append(this->text(node_texts_[u.id()]));
      out.is_header_needed = true;
    }
    return out;
  }

 private:
  struct NodeText : NodeUses {
    size_t begin = 0, size = 0;  // range of pieces_: the node's name, or else its expression
    uint32_t depth = 0;
    bool is_bracketed = false;  // the text is an expression in parentheses
  };

  void scan_uses() {
    const RareArgFeatures odd = RareArgFeatures::of_nodes(order_);
    has_rare_arg_text_ = odd.has_parenthesis || odd.has_graph;
    mark_named_nodes(root_, order_, node_texts_,
                     {{Op::REDUCE}, is_0_13_ ? kNeverNamed : OpSet{Op::CONST}, kAlwaysNamed});
    lacks_original_ = !is_known_release_ || std::ranges::any_of(order_, [&](UOp u) {
      return u.is(Op::FUNCTION) ||
             (u.is(Op::CALL) && (is_0_13_ || !u.num_src() || u.src(0).dtype() == dtypes::void_));
    });
  }

  std::string_view text(const NodeText& info) const { return pieces_.view(info.begin, info.size); }

  template <class Write>
  void write_piece(UOp u, Write write) {
    const size_t begin = pieces_.size();
    output_ = &pieces_;
    write();
    tag(u);
    node_texts_[u.id()].begin = begin, node_texts_[u.id()].size = pieces_.size() - begin;
  }

  void write_line(UOp u, const NodeText& info) {
    if (lines_.size()) lines_.put('\n');
    line_begins_.push_back(lines_.size());
    lines_.put(pieces_, info.begin, info.size);
    lines_.put(" = ");
    const size_t begin = lines_.size();
    output_ = &lines_;
    write_expression(u, u.tag().is_none() && !has_rare_arg_text_);
    tag(u);
    if (has_rare_arg_text_ && strip_parens(lines_.view().substr(begin)).size() + begin < lines_.size())
      lines_.drop_outer_bytes(begin);
  }

  // Writes `u`, and sources without a line of their own, as UOp(...).
  void write_plain_pieces(UOp u) {
    for (UOp s : u.src())
      if (!node_texts_[s.id()].has_line) write_plain_pieces(s);
    write_piece(u, [&] { write_whole_node(u); });
  }

  friend class PyrenderFormWriter<OpenPyrenderWriter>;
  static std::string_view symbol(Op op) {
    return op == Op::FLOORDIV ? "//" : op == Op::FLOORMOD ? "%" : infix_symbol(op);
  }
  static int precedence(Op op) { return op == Op::FLOORDIV || op == Op::FLOORMOD ? 1 : infix_precedence(op); }
  bool is_printed_as_number(UOp u) const {
    return is_0_13_ && u.is_const() && u.num_src() == 1 && u.src(0).is(Op::DEVICE);
  }

  void src(UOp u) { output_->put(pieces_, node_texts_[u.id()].begin, node_texts_[u.id()].size); }
  void write_operand(UOp u, bool strip) {
    const NodeText& info = node_texts_[u.id()];
    const size_t ends = strip && info.is_bracketed;
    output_->put(pieces_, info.begin + ends, info.size - 2 * ends);
  }
  void repr(Arg a) {
    if (a.kind() == Arg::Kind::Int) return output_->put_integer(a.small_int());
    scratch_text_.clear();
    append_open_repr(scratch_text_, a);
    put_text(scratch_text_);
  }

  void write_whole_node(UOp u) {
    put_text("UOp(Ops."), put_text(printed_op_name(u)), put_text(", "), dtype(u.dtype()), put_text(", "),
        write_sources(u.src());
    if (Arg a = printed_arg(u); !a.is_none()) {
      put_text(", ");
      if (u.is(Op::CONST) && is_const_float(a)) put_text("ConstFloat("), repr(a), put_text(')');
      else repr(a);
    }
    put_text(')');
  }

  bool write_constant(UOp u) {
    const size_t n = u.num_src();
    const bool on_device = is_0_13_ && n == 1 && u.src(0).is(Op::DEVICE),
               is_unique = is_0_13_ && n == 2 && u.src(0).is(Op::UNIQUE) && u.src(1).is(Op::DEVICE);
    if (n && !on_device && !is_unique) return false;
    put_text(is_unique ? "UOp.unique_const(" : "UOp.const(");
    if (is_0_13_ && !is_unique) dtype(u.dtype()), put_text(", "), str(u.arg());
    else str(u.arg()), put_text(is_unique ? ", dtype=" : ", "), dtype(u.dtype());
    if (n) put_text(", device="), repr(u.src(n - 1).arg());
    if (is_unique) put_text(", unique="), str(u.src(0).arg());
    put_text(')');
    return true;
  }

  void write_index(UOp u) {
    src(u.src(0)), put_text(".index("), src(u.src(1)), put_text(", ");
    for (UOp s : u.src().subspan(2)) src(s), put_text(", ");
    if (u.src(0).dtype() == u.dtype()) put_text("ptr=True)");
    else put_text("dtype="), dtype(u.dtype()), put_text(')');
  }

  // Returns the number of elements of a shape; nullopt if the shape is not constant.
  static std::optional<Int> num_elements_of_shape(UOp shape) {
    Int n = 1;
    auto times = [&](UOp s) {
      if (!s.is_const() || !s.arg().is_int()) return false;
      n = n * s.arg().as_int();
      return true;
    };
    if (!shape.is(Op::STACK)) return times(shape) ? std::optional(n) : std::nullopt;
    for (UOp s : shape.src())
      if (!times(s)) return std::nullopt;
    return n;
  }
  void write_new_buffer(UOp u, Arg device, std::string_view size, Arg number) {
    put_text("UOp.new_buffer("), repr(device), put_text(", "), put_text(size), put_text(", ");
    dtype(u.dtype()), put_text(", "), str(number), put_text(')');
  }
  bool write_buffer(UOp u) {
    if (is_0_13_) {
      if (u.num_src() != 2 || !u.src(0).is(Op::UNIQUE) || !u.src(1).is(Op::DEVICE)) return false;
      return write_new_buffer(u, u.src(1).arg(), u.arg().str(), u.src(0).arg()), true;
    }
    if (u.num_src() != 1 || !u.arg().is(RecordClass::Open) || RecordView(u.arg()).name() != "ParamArg") return false;
    Arg space = param_field(u.arg(), "addrspace");
    auto count = num_elements_of_shape(u.src(0));
    if (!count || (!space.is_none() && space.repr() != "AddrSpace.GLOBAL")) return false;
    return write_new_buffer(u, param_field(u.arg(), "device"), count->str(), param_field(u.arg(), "slot", 0)), true;
  }

  bool write_reduction(UOp u) {
    if (!u.arg().is_tuple() || u.arg().items().size() != 2 || !u.num_src()) return false;
    Arg axes = u.arg()[1];
    constexpr int64_t kMaxAxes = 64;
    const bool is_count = axes.is_int() && Int(0) < axes.as_int() && axes.as_int() <= Int(kMaxAxes);
    if (axes.is_tuple() ? axes.items().empty() : !is_count) return false;
    src(u.src(0)), put_text("._rop("), str(u.arg()[0]), put_text(", ");
    if (axes.is_tuple()) return repr(axes), put_text(')'), true;
    put_text('(');
    for (int64_t i = 0; i < axes.small_int(); i++) {
      if (i) put_text(", ");
      output_->put_integer(i);
    }
    put_text(axes.small_int() == 1 ? ",))" : "))");
    return true;
  }

  // Returns true if an operator of 0.14 would not cast the operands of `u` to a common dtype.
  static bool needs_no_cast(UOp u) {
    const DType a = u.src(0).dtype(), b = u.src(1).dtype();
    const auto is_weak = [](DType d) { return d == weakint() || d == weakfloat(); };
    if (a == b && a != dtypes::void_ && !is_weak(a)) return true;
    auto out = promoted_dtype_0_14(a, b);
    if (!out) return false;
    for (UOp s : u.src()) {
      UOp base = movement_base(s);
      if (base.is_const() && base.arg().is_invalid()) continue;
      bool plain = s.is_const() || (s.is(Op::EXPAND) && s.src(0).is_const());
      if (is_weak(s.dtype()) && base.is_const()) {
        DType weak = *out == dtypes::bool_ ? *out : is_float_of_any_release(*out) ? weakfloat() : weakint();
        if (!plain || s.dtype() != weak || !s.tag().is_none()) return false;
      } else if (s.dtype() != *out) {
        return false;
      }
    }
    return true;
  }

  void write_alu(UOp u) {
    src(u.src(0)), put_text(".alu(Ops."), put_text(printed_op_name(u));
    for (UOp s : u.src().subspan(1)) put_text(", "), src(s);
    put_text(')');
  }

  // Writes `u` if there is a special syntax for it, such as UOp.range(...); else returns false.
  bool write_special_form(UOp u) {
    const size_t n = u.num_src();
    switch (u.op()) {
      case Op::CONST: return write_constant(u);
      case Op::DEFINE_VAR:
        if (!is_0_13_ || n != 0 || !u.arg().is_tuple() || u.arg().items().size() < 3) return false;
        return write_variable(u, weakint()), true;
      case Op::CAST:
      case Op::BITCAST:
        if (n == 0 || (!is_0_13_ && u.dtype() == u.src(0).dtype())) return false;
        return write_cast(u), true;
      case Op::SPECIAL:
        if (n != 1 || !u.src(0).is_const()) return false;
        return write_special(u), true;
      case Op::BUFFER: return write_buffer(u);
      case Op::COPY:
        if (n != (is_0_13_ ? 2u : 1u) || (is_0_13_ && !u.src(1).is(Op::DEVICE))) return false;
        src(u.src(0)), put_text(".copy_to_device("), repr(is_0_13_ ? u.src(1).arg() : u.arg()), put_text(')');
        return true;
      case Op::CUSTOM_FUNCTION:
        put_text("UOp(Ops.CUSTOM_FUNCTION, ");
        if (is_0_13_) dtype(u.dtype()), put_text(", ");
        put_text("src="), write_sources(u.src()), put_text(", arg="), repr(u.arg()), put_text(')');
        return true;
      case Op::REDUCE: return write_reduction(u);
      case Op::RANGE:
        return n >= 1 && u.src(0).is_const() && u.arg().is_tuple() ? write_range(u, weakint()), true : false;
      case Op::INDEX:
        if (n < 2 || (is_0_13_ ? u.src(0).dtype().base() : u.src(0).dtype()) == u.dtype()) return false;
        return write_index(u), true;
      case Op::CDIV:
      case Op::CMOD: return n == 2 ? write_alu(u), true : false;
      case Op::WHERE:
        if (n != 3) return false;
        return is_0_13_ ? write_method(u) : write_alu(u), true;
      case Op::UNIQUE: return is_0_13_ ? write_method(u), true : false;
      default: return false;
    }
  }

  // If `bare` is true, writes an infix expression without parentheses around it. Returns true if the expression is
  // infix.
  bool write_expression(UOp u, bool bare) {
    if (!is_known_release_) return write_whole_node(u), false;
    if (u.in(kInfix) && u.num_src() == 2) {
      if (is_0_13_ || needs_no_cast(u)) return write_infix(u, bare), true;
      return write_alu(u), false;
    }
    if (write_special_form(u)) return false;
    u.in(kMethods) ? write_method(u) : write_whole_node(u);
    return false;
  }

  UOp root_;
  Graph& graph_;
  std::vector<UOp> order_;
  std::vector<NodeText> node_texts_;
  TextBuffer pieces_, lines_;
  std::vector<size_t> line_begins_;
  const bool is_0_13_, is_known_release_;
  bool lacks_original_ = false;
  bool has_rare_arg_text_ = false;
};

}  // namespace

OpenGraphText pyrender_open_graph(UOp root) { return OpenPyrenderWriter(root).write(); }

CompleteText pyrender_open_complete(UOp root) { return OpenPyrenderWriter(root).write_complete(); }

}  // namespace tgc
