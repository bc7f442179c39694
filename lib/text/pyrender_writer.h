// Writes pyrender text. A named node has its own line, and its users' lines show its name. Any other node, except
// constants and devices, has one user and is written inside the user's expression. The texts of names and constants are
// stored once, in pieces_, and copied to each use. Private to lib/text. pyrender_complete.cpp adds comments with
// omitted facts.
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

// Returns the name of the method that makes nodes with op `op`: "sink" for Op::SINK.
std::string_view method_name(Op op);

// Rare features of args that make the writer slower: a string with a parenthesis (`text`), a UOp as an arg (`graph`).
struct RareArgFeatures {
  bool text = false, graph = false;

  void add(Arg a) {
    if (!a.is_none() && a.kind() != Arg::Kind::Int) add_rare(a);  // fast path: most args are integers or None
  }
  void add_rare(Arg a) {
    switch (a.kind()) {
      case Arg::Kind::Str:
      case Arg::Kind::Bytes:
      case Arg::Kind::Raw: text = text || a.text().find('(') != a.text().npos || a.text().find(')') != a.text().npos;
        break;
      case Arg::Kind::Tuple:
      case Arg::Kind::Record:
        for (Arg item : a.items()) add(item);
        break;
      case Arg::Kind::UOp: graph = true; break;
      default: break;
    }
  }
  static RareArgFeatures of(std::span<const UOp> nodes) {
    RareArgFeatures out;
    for (UOp u : nodes) out.add(u.arg()), out.add(u.tag());
    return out;
  }
};

// The uses of a node, from which mark_named decides whether the node gets its own line.
struct NodeUses {
  uint32_t users = 0;          // number of distinct users
  uint32_t last_user = 0;      // id + 1 of the last user
  bool is_used_twice = false;  // true if one user has the node more than once among its sources
  bool has_line = false;       // true if the node has its own line
};
struct Naming {
  OpSet reductions;    // ops whose first source gets a line
  OpSet never_named;   // ops that get no line, however many users they have
  OpSet always_named;  // ops that get a line even with a single user
};
// Sets NodeUses::has_line in `info`, which is indexed by node id. Info derives from NodeUses.
template <class Info>
void mark_named(UOp root, std::span<const UOp> order, std::vector<Info>& info, const Naming& naming) {
  for (UOp u : order)
    for (UOp s : u.src()) {
      NodeUses& uses = info[s.id()];
      if (uses.last_user == u.id() + 1) uses.is_used_twice = true;
      else uses.users++, uses.last_user = u.id() + 1;
    }
  auto name = [&](UOp u) { info[u.id()].has_line = true; };
  name(root);
  for (UOp u : order) {
    if (u.is(Op::SINK))
      for (UOp s : u.src()) name(s);
    if (u.is(Op::STORE) && u.num_src() > 1) name(u.src(1));
    if (u.in(naming.reductions) && u.num_src() > 0) name(u.src(0));
    if (u.in(naming.never_named)) continue;
    const NodeUses& uses = info[u.id()];
    if (uses.users != 1 || uses.is_used_twice || u.in(naming.always_named)) name(u);
  }
}

// Writes the expressions that look the same in the texts of all releases. The derived class, Writer, writes sources
// (src, operand) and args (repr), and defines the infix operators (symbol, precedence).
template <class Writer>
class PyrenderForms {
 protected:
  void put(char c) { to_->put(c); }
  void put(std::string_view s) { to_->put(s); }
  void dtype(DType d) { put(d.repr()); }
  void str(Arg a) { a.is_str() ? put(a.text()) : self().repr(a); }
  void tag(UOp u) {
    if (!u.tag().is_none()) put(".rtag("), self().repr(u.tag()), put(')');
  }
  void sources(std::span<const UOp> list) {
    put('(');
    for (size_t i = 0; i < list.size(); i++) {
      if (i) put(", ");
      self().src(list[i]);
    }
    put(list.size() == 1 ? ",)" : ")");
  }

  // Writes (left+right), or left+right if `bare` is true. An operand has parentheses only if the precedence requires
  // them. A constant on a device is written as a number, without its device.
  void infix(UOp u, bool bare) {
    UOp a = u.src(0), b = u.src(1);
    const bool a_is_number = !u.is(Op::CMPNE) && self().is_printed_as_number(a);
    const bool b_is_number = !a_is_number && self().is_printed_as_number(b);
    int p = Writer::precedence(u.op());
    if (!bare) put('(');
    if (a_is_number) str(a.arg());
    else self().operand(a, p != 99 && Writer::precedence(a.op()) <= p);
    put(Writer::symbol(u.op()));
    if (b_is_number) str(b.arg());
    else self().operand(b, p != 99 && Writer::precedence(b.op()) < p);
    if (!bare) put(')');
  }
  // Writes a method call, such as x.exp2(), a.store(b, c, arg=...) or UOp.sink().
  void method(UOp u) {
    if (u.num_src()) self().src(u.src(0));
    else put("UOp");
    put('.'), put(method_name(u.op())), put('(');
    for (size_t i = 1; i < u.num_src(); i++) {
      if (i > 1) put(", ");
      self().src(u.src(i));
    }
    if (!u.arg().is_none()) put(u.num_src() > 1 ? ", arg=" : "arg="), self().repr(u.arg());
    put(')');
  }
  // Writes UOp.range(...). The text states the RANGE's dtype only if it is not `usual`.
  void range(UOp u, DType usual) {
    put("UOp.range("), str(u.src(0).arg());
    for (Arg a : u.arg().items()) put(", "), self().repr(a);
    if (u.num_src() > 1) put(", src="), sources(u.src().subspan(1));
    if (u.dtype() != usual) put(", dtype="), dtype(u.dtype());
    put(')');
  }
  void variable(UOp u, DType usual) {
    put("UOp.variable(\""), str(u.arg()[0]), put("\", "), str(u.arg()[1]), put(", "), str(u.arg()[2]);
    if (u.dtype() != usual) put(", dtype="), dtype(u.dtype());
    put(')');
  }
  void special(UOp u) {
    put("UOp.special("), str(u.src(0).arg()), put(", "), self().repr(u.arg());
    put(", dtype="), dtype(u.dtype()), put(')');
  }
  void cast(UOp u) {
    self().src(u.src(0)), put(u.is(Op::CAST) ? ".cast(" : ".bitcast("), dtype(u.dtype()), put(')');
  }

  TextBuffer* to_ = nullptr;
  std::string scratch_;

 private:
  Writer& self() { return static_cast<Writer&>(*this); }
};

class PyrenderWriter : protected PyrenderForms<PyrenderWriter> {
 public:
  explicit PyrenderWriter(UOp root) : root_(root), order_(toposort(root)), info_(root.id() + 1) {}
  virtual ~PyrenderWriter() = default;

  // Returns the text, without a final newline. Throws Failure if tinygrad's own pyrender fails on the graph.
  std::string write() { return write_lines(), kernels_text_ + lines_.str(); }

 protected:
  struct Info : NodeUses {
    size_t begin = 0;            // offset in pieces_ of the node's text: its name, or the constant
    uint32_t size = 0;           // length of that text; 0 if the node has no text in pieces_
    bool inlined = false;        // true if the node is written within its user's expression
    bool plain = false;          // true if the node must be written as UOp(...), which states every field
  };

  void write_lines();
  // Returns the name of a named node: "c12", or "ast" for the root.
  std::string_view name(UOp u) const {
    return u == root_ ? "ast" : pieces_.view(info_[u.id()].begin, info_[u.id()].size);
  }
  // Returns u's expression, written again after some nodes were marked `plain`.
  std::string expression_of(UOp u);
  // Returns the text of a kernel's AST as a function body, in which the names c0, c1, ... are local.
  virtual std::string text_of_kernel(UOp ast) {
    PyrenderWriter kernel(ast);
    kernel.level_ = level_ + 1;
    return kernel.write();
  }
  static constexpr int kMaxLevels = 64;
  int level_ = 0;                     // nesting depth of the function that this object writes; 0 outside functions

  UOp root_;
  std::vector<UOp> order_;            // the named node c12 is order_[12]
  std::vector<Info> info_;            // indexed by node id
  TextBuffer lines_, pieces_;
  bool keeps_lines_ = false;  // true if write() must fill line_begins_
  std::vector<std::pair<UOp, size_t>> line_begins_;  // named nodes, and where their lines begin in lines_
  std::vector<UOp> kernels_;          // graphs contained in args and tags; kernels_[0] is written as function k0
  std::unordered_map<uint32_t, size_t> kernel_numbers_;  // index in kernels_ by node id
  std::string kernels_text_;
  bool whole_movements_ = false;  // true to write movement ops as UOp(...), because methods fail if shapes do not fit

 private:
  void line(UOp u, const Info& info);
  void piece(UOp u);
  size_t kernel_number(UOp ast);
  void kernel_name(UOp ast);

  friend class PyrenderForms<PyrenderWriter>;
  static std::string_view symbol(Op op) { return infix_symbol(op); }
  static int precedence(Op op) { return infix_precedence(op); }
  bool is_printed_as_number(UOp u) const;

  // ---- parts of expressions
  void src(UOp u);
  void inlined(UOp u, bool bare);
  void write_inlined(UOp u, bool bare);
  const Info& info_of(UOp u) const;
  void repr(Arg a);
  void items_with_graphs(Arg a);
  void size(Sint s);
  void movement_argument(UOp u);

  // ---- forms
  void operand(UOp u, bool strip);
  void constant(UOp u);
  void index(UOp u);
  bool special_form(UOp u);
  void kernel_arg(Arg kernel);
  void whole(UOp u, std::string_view dtype_text);
  void expression(UOp u, bool bare);

  bool odd_text_ = false;             // an arg or tag contains a string with a parenthesis
  bool holds_graphs_ = false;         // some arg or tag contains a graph
  int depth_ = 0;                     // nesting depth of the expression being written
};

}  // namespace tgc
