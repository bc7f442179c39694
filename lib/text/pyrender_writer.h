// The writer of pyrender text. A node with a name has a line; where it is used stands the name. Names and constants are
// pieces, kept to be copied; any other node has one user, in whose expression it is written, however deep that gets.
// For lib/text alone: pyrender_complete.cpp adds what the letters lose.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lib/text/text_buffer.h"
#include "lib/uop/graph.h"
#include "lib/uop/sint.h"

namespace tgc {

// "sink" for Op::SINK: the name of the method that makes such a node.
std::string_view method_name(Op op);

// What in args asks for care: a string with a bracket, which may unbalance the text around it, and a graph.
struct Oddities {
  bool text = false, graph = false;

  void add(Arg a) {
    if (!a.is_none() && a.kind() != Arg::Kind::Int) look_into(a);  // most are one of these
  }
  void look_into(Arg a) {
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
  static Oddities of(std::span<const UOp> nodes) {
    Oddities out;
    for (UOp u : nodes) out.add(u.arg()), out.add(u.tag());
    return out;
  }
};

// Which nodes have a line: of how a node is used, and of which ops it is.
struct NodeUses {
  uint32_t users = 0;      // distinct ones
  uint32_t last_user = 0;  // its id, plus 1
  bool twice = false;      // used twice by one user
  bool named = false;      // it has a line
};
struct Naming {
  OpSet reductions, never, always;  // what is reduced has a line; these ops never, or always
};
// Marks them in `info`, by id; Info is a NodeUses.
template <class Info>
void mark_named(UOp root, std::span<const UOp> order, std::vector<Info>& info, const Naming& naming) {
  for (UOp u : order)
    for (UOp s : u.src()) {
      NodeUses& uses = info[s.id()];
      if (uses.last_user == u.id() + 1) uses.twice = true;
      else uses.users++, uses.last_user = u.id() + 1;
    }
  auto name = [&](UOp u) { info[u.id()].named = true; };
  name(root);
  for (UOp u : order) {
    if (u.is(Op::SINK))
      for (UOp s : u.src()) name(s);
    if (u.is(Op::STORE) && u.num_src() > 1) name(u.src(1));
    if (u.in(naming.reductions) && u.num_src() > 0) name(u.src(0));
    if (u.in(naming.never)) continue;
    const NodeUses& uses = info[u.id()];
    if (uses.users != 1 || uses.twice || u.in(naming.always)) name(u);
  }
}

class PyrenderWriter {
 public:
  explicit PyrenderWriter(UOp root) : root_(root), order_(toposort(root)), info_(root.id() + 1) {}
  virtual ~PyrenderWriter() = default;

  // The text, without a final newline. Throws Failure where tinygrad's own pyrender fails.
  std::string write() { return write_lines(), kernels_text_ + lines_.str(); }

 protected:
  struct Info : NodeUses {
    size_t begin = 0;            // of its piece, into pieces_
    uint32_t size = 0;           // 0: it has none, or is not below the root
    bool inlined = false;        // it is written in its user's expression
    bool plain = false;          // it is to be written as UOp(...), the form that leaves nothing out
  };

  void write_lines();
  // "c12" or "ast".
  std::string_view name(UOp u) const {
    return u == root_ ? "ast" : pieces_.view(info_[u.id()].begin, info_[u.id()].size);
  }
  // What a node would be written as, its name aside, now that some parts of it are to be plain.
  std::string expression_of(UOp u);
  // The text of a kernel's ast, which has names of its own.
  virtual std::string text_of_kernel(UOp ast) {
    PyrenderWriter kernel(ast);
    kernel.level_ = level_ + 1;
    return kernel.write();
  }
  static constexpr int kMostLevels = 64;
  int level_ = 0;                     // of functions in each other

  UOp root_;
  std::vector<UOp> order_;            // c12 is order_[12]
  std::vector<Info> info_;            // by id: what is below the root is older than it
  TextBuffer lines_, pieces_;
  bool keeps_lines_ = false;
  std::vector<std::pair<UOp, size_t>> line_begins_;  // of the named nodes, into lines_, where they are kept
  std::vector<UOp> kernels_;          // k0, k1, ...: graphs that args and tags hold
  std::unordered_map<uint32_t, size_t> kernel_numbers_;  // of the same, by their ids
  std::string kernels_text_;
  bool whole_movements_ = false;      // movements are written as UOp(...): their methods need shapes that fit

 private:
  void line(UOp u, const Info& info);
  void piece(UOp u);
  size_t kernel_number(UOp ast);
  void kernel_name(UOp ast);

  // ---- pieces of expressions
  void put(char c) { to_->put(c); }
  void put(std::string_view s) { to_->put(s); }
  void src(UOp u);
  void inlined(UOp u, bool bare);
  void write_inlined(UOp u, bool bare);
  const Info& info_of(UOp u) const;
  void tag(UOp u);
  void repr(Arg a);
  void str(Arg a);
  void items_with_graphs(Arg a);
  void dtype(DType d) { put(d.repr()); }
  void sources(std::span<const UOp> list);
  void size(Sint s);
  void movement_argument(UOp u);

  // ---- forms
  void infix(UOp u, bool bare);
  void operand(UOp u, bool strip);
  void constant(UOp u);
  void range(UOp u);
  void index(UOp u);
  bool special_form(UOp u);
  void method(UOp u);
  void kernel_arg(Arg kernel);
  void whole(UOp u, std::string_view dtype_text);
  void expression(UOp u, bool bare);

  TextBuffer* to_ = &lines_;
  std::string scratch_;
  bool odd_text_ = false;             // a string with a bracket is in the graph
  bool holds_graphs_ = false;         // an arg or a tag holds a graph
  int depth_ = 0;                     // of expressions in each other, while one is written
};

}  // namespace tgc
