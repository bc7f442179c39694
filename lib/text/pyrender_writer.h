// Writes pyrender text. A named node has its own line, and its users' lines show its name. Other nodes, except
// constants and devices, have one user, in whose expression they are written. The texts of names, constants and devices
// are stored once, in piece_text_, and copied to each use. Private to lib/text.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lib/text/text_buffer.h"
#include "lib/uop/graph.h"
#include "lib/uop/render.h"
#include "lib/uop/sint.h"

namespace tgc {

// Returns the name of the op in lower case, such as "sink" for Op::SINK.
std::string_view method_name(Op op);

// Rare features of args and tags that make the writer slower: a string with a parenthesis, or a UOp.
struct RareArgFeatures {
  bool has_parenthesis = false, has_graph = false;

  void add_arg(Arg a) {
    if (!a.is_none() && a.kind() != Arg::Kind::Int) add_rare_arg(a);  // most args are integers or None
  }
  void add_rare_arg(Arg a) {
    switch (a.kind()) {
      case Arg::Kind::Str:
      case Arg::Kind::Bytes:
      case Arg::Kind::Raw:
        has_parenthesis = has_parenthesis || a.text().find('(') != a.text().npos || a.text().find(')') != a.text().npos;
        break;
      case Arg::Kind::Tuple:
      case Arg::Kind::Record:
        for (Arg item : a.items()) add_arg(item);
        break;
      case Arg::Kind::UOp: has_graph = true; break;
      default: break;
    }
  }
  static RareArgFeatures of_nodes(std::span<const UOp> nodes) {
    RareArgFeatures out;
    for (UOp u : nodes) out.add_arg(u.arg()), out.add_arg(u.tag());
    return out;
  }
};

struct NodeUses {
  uint32_t num_users = 0;
  uint32_t last_user = 0;      // id + 1 of the user that was counted last; 0 if none
  bool is_used_twice = false;  // true if one user has the node more than once among its sources
  bool has_line = false;
};
struct NamingRules {
  OpSet reduction_ops;  // ops whose first source has a line of its own
  OpSet never_named_ops;  // ops that get no line because of the number of their users
  OpSet always_named_ops;  // ops with a line of their own even with a single user
};
// Sets the members of NodeUses in `info`, by node id. Info derives from NodeUses.
template <class Info>
void mark_named_nodes(UOp root, std::span<const UOp> order, std::vector<Info>& info, const NamingRules& naming) {
  for (UOp u : order)
    for (UOp s : u.src()) {
      NodeUses& uses = info[s.id()];
      if (uses.last_user == u.id() + 1) uses.is_used_twice = true;
      else uses.num_users++, uses.last_user = u.id() + 1;
    }
  auto name = [&](UOp u) { info[u.id()].has_line = true; };
  name(root);
  for (UOp u : order) {
    if (u.is(Op::SINK))
      for (UOp s : u.src()) name(s);
    if (u.is(Op::STORE) && u.num_src() > 1) name(u.src(1));
    if (u.in(naming.reduction_ops) && u.num_src() > 0) name(u.src(0));
    if (u.in(naming.never_named_ops)) continue;
    const NodeUses& uses = info[u.id()];
    if (uses.num_users != 1 || uses.is_used_twice || u.in(naming.always_named_ops)) name(u);
  }
}

// The expressions that texts of different releases share. Writer writes sources and args, and defines the infix
// operators.
template <class Writer>
class PyrenderFormWriter {
 protected:
  void put_text(char c) { output_->put(c); }
  void put_text(std::string_view s) { output_->put(s); }
  void dtype(DType d) { put_text(d.repr()); }
  void str(Arg a) { a.is_str() ? put_text(a.text()) : self().repr(a); }
  void tag(UOp u) {
    if (!u.tag().is_none()) put_text(".rtag("), self().repr(u.tag()), put_text(')');
  }
  void write_sources(std::span<const UOp> list) {
    put_text('(');
    for (size_t i = 0; i < list.size(); i++) {
      if (i) put_text(", ");
      self().src(list[i]);
    }
    put_text(list.size() == 1 ? ",)" : ")");
  }

  // Writes (left+right), or left+right if `bare` is true. A constant on a device is written as a number, without its
  // device, at most for one of the two operands.
  void write_infix(UOp u, bool bare) {
    UOp a = u.src(0), b = u.src(1);
    const bool a_is_number = !u.is(Op::CMPNE) && self().is_printed_as_number(a);
    const bool b_is_number = !a_is_number && self().is_printed_as_number(b);
    int p = Writer::precedence(u.op());
    if (!bare) put_text('(');
    if (a_is_number) str(a.arg());
    else self().write_operand(a, p != 99 && Writer::precedence(a.op()) <= p);
    put_text(Writer::symbol(u.op()));
    if (b_is_number) str(b.arg());
    else self().write_operand(b, p != 99 && Writer::precedence(b.op()) < p);
    if (!bare) put_text(')');
  }
  void write_method(UOp u) {
    if (u.num_src()) self().src(u.src(0));
    else put_text("UOp");
    put_text('.'), put_text(method_name(u.op())), put_text('(');
    for (size_t i = 1; i < u.num_src(); i++) {
      if (i > 1) put_text(", ");
      self().src(u.src(i));
    }
    if (!u.arg().is_none()) put_text(u.num_src() > 1 ? ", arg=" : "arg="), self().repr(u.arg());
    put_text(')');
  }
  // States the RANGE's dtype if it is not `usual`.
  void write_range(UOp u, DType usual) {
    put_text("UOp.range("), str(u.src(0).arg());
    for (Arg a : u.arg().items()) put_text(", "), self().repr(a);
    if (u.num_src() > 1) put_text(", src="), write_sources(u.src().subspan(1));
    if (u.dtype() != usual) put_text(", dtype="), dtype(u.dtype());
    put_text(')');
  }
  void write_variable(UOp u, DType usual) {
    put_text("UOp.variable(\""), str(u.arg()[0]), put_text("\", "), str(u.arg()[1]), put_text(", "), str(u.arg()[2]);
    if (u.dtype() != usual) put_text(", dtype="), dtype(u.dtype());
    put_text(')');
  }
  void write_special(UOp u) {
    put_text("UOp.special("), str(u.src(0).arg()), put_text(", "), self().repr(u.arg());
    put_text(", dtype="), dtype(u.dtype()), put_text(')');
  }
  void write_cast(UOp u) {
    self().src(u.src(0)), put_text(u.is(Op::CAST) ? ".cast(" : ".bitcast("), dtype(u.dtype()), put_text(')');
  }

  TextBuffer* output_ = nullptr;
  std::string scratch_text_;

 private:
  Writer& self() { return static_cast<Writer&>(*this); }
};

class PyrenderWriter : protected PyrenderFormWriter<PyrenderWriter> {
 public:
  explicit PyrenderWriter(UOp root) : root_node_(root), ordered_nodes_(toposort(root)), node_texts_(root.id() + 1) {}
  virtual ~PyrenderWriter() = default;

  // Returns the text without a final newline. Throws Failure if tinygrad's own pyrender fails on the graph, or if
  // expressions or graphs in args nest too deeply.
  std::string write() { return write_lines(), kernels_text_ + line_text_.str(); }

 protected:
  struct NodeText : NodeUses {
    size_t text_begin = 0;    // range of piece_text_: the name, or the text of a constant or device
    uint32_t text_size = 0;   // 0: no text in piece_text_
    bool is_inlined = false;
    bool is_plain = false;  // must be written as UOp(...), which states every field
  };

  void write_lines();
  // Returns a name such as "c12", or "ast" for the root.
  std::string_view name(UOp u) const {
    return u == root_node_ ? "ast" : piece_text_.view(node_texts_[u.id()].text_begin, node_texts_[u.id()].text_size);
  }
  std::string expression_of(UOp u);
  // Returns the text of a kernel's AST as a function body, with its own names c0, c1, ...
  virtual std::string text_of_kernel(UOp ast) {
    PyrenderWriter kernel(ast);
    kernel.function_level_ = function_level_ + 1;
    return kernel.write();
  }
  static constexpr int kMaxFunctionLevels = 64;
  // nesting of the function that this object writes; 0 outside functions
  int function_level_ = 0;

  UOp root_node_;
  std::vector<UOp> ordered_nodes_;  // the named node c12 is ordered_nodes_[12]
  std::vector<NodeText> node_texts_;
  TextBuffer line_text_, piece_text_;
  bool should_keep_lines_ = false;
  std::vector<std::pair<UOp, size_t>> line_begins_;  // named nodes, and where their lines begin in line_text_
  std::vector<UOp> kernel_graphs_;  // graphs in args and tags; kernel_graphs_[0] is written as function k0
  std::unordered_map<uint32_t, size_t> kernel_numbers_;
  std::string kernels_text_;
  // write movement ops as UOp(...), because methods fail if shapes do not fit
  bool should_write_whole_movements_ = false;

 private:
  void write_line(UOp u, const NodeText& info);
  void write_piece(UOp u);
  size_t kernel_number(UOp ast);
  void write_kernel_name(UOp ast);

  friend class PyrenderFormWriter<PyrenderWriter>;
  static std::string_view symbol(Op op) { return infix_symbol(op); }
  static int precedence(Op op) { return infix_precedence(op); }
  bool is_printed_as_number(UOp u) const;

  void src(UOp u);
  void write_nested(UOp u, bool bare);
  void write_inlined_node(UOp u, bool bare);
  const NodeText& node_text_of(UOp u) const;
  void repr(Arg a);
  void write_items(Arg a);
  void write_size(Sint s);
  void write_movement_argument(UOp u);

  void write_operand(UOp u, bool strip);
  void write_constant(UOp u);
  void write_index(UOp u);
  bool write_special_form(UOp u);
  void write_kernel_arg(Arg kernel);
  void write_whole_node(UOp u, std::string_view dtype_text);
  void write_expression(UOp u, bool bare);

  bool has_rare_arg_text_ = false;
  bool has_graphs_ = false;
  int expression_depth_ = 0;
};

}  // namespace tgc
