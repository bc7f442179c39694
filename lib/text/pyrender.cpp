#include "lib/text/pyrender.h"

#include <algorithm>
#include <charconv>

#include "lib/uop/facts.h"
#include "lib/uop/movement.h"
#include "lib/uop/render.h"

namespace tgc {
namespace {

constexpr OpSet kNeverNamed{Op::CONST, Op::VCONST, Op::DEVICE};
constexpr OpSet kAlwaysNamed{Op::DEFINE_GLOBAL, Op::LOAD, Op::SPECIAL, Op::RANGE, Op::CONTIGUOUS, Op::VECTORIZE,
                             Op::BUFFER, Op::COPY, Op::KERNEL, Op::WHERE, Op::END, Op::ASSIGN};
constexpr OpSet kMethods{Op::SINK, Op::END, Op::STORE, Op::LOAD, Op::UNIQUE, Op::SQRT, Op::INDEX, Op::REDUCE, Op::AFTER, Op::THREEFRY,
                         Op::WHERE, Op::RECIPROCAL, Op::EXP2, Op::LOG2, Op::SIN, Op::CONTIGUOUS, Op::BARRIER, Op::ASSIGN, Op::DETACH};
constexpr OpSet kInfix{Op::ADD, Op::SUB, Op::IDIV, Op::MOD, Op::SHL, Op::SHR, Op::MUL, Op::CMPLT, Op::CMPNE, Op::AND, Op::OR, Op::XOR};

void append_lower(std::string& out, std::string_view name) {
  for (char c : name) out += char(c >= 'A' && c <= 'Z' ? c | 32 : c);
}

void append_int(std::string& out, int64_t v) {
  char buffer[24];
  out.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, v).ptr);
}

class Writer {
 public:
  explicit Writer(UOp root) : root_(root), order_(toposort(root)), info_(root.graph()) {}

  std::string write() {
    mark_named();
    std::string out;
    size_t line = 0;
    for (size_t i = 0; i < order_.size(); i++) {
      UOp u = order_[i];
      if (u.is(Op::KERNEL)) name_kernel(u.arg()[0].uop());
      size_t begin = text_.size();
      expression(u);
      if (!u.tag().is_none()) {
        text_ += ".rtag(";
        u.tag().append_repr(text_);
        text_ += ')';
      }
      Info& info = *info_.find(u);
      info.begin = begin;
      info.size = uint32_t(text_.size() - begin);
      if (!info.named) continue;
      if (line++) out += '\n';
      size_t name_at = out.size();
      if (i + 1 == order_.size()) out += "ast";
      else out += 'c', append_int(out, int64_t(i));
      size_t name_size = out.size() - name_at;
      out.append(" = ").append(strip_parens(view(u)));
      info.begin = text_.size();
      info.size = uint32_t(name_size);
      text_.append(out, name_at, name_size);
    }
    return kernels_text_ + out;
  }

 private:
  struct Info {
    size_t begin = 0;  // into text_: the name of a named node, else its expression
    uint32_t size = 0;
    uint32_t consumers = 0;  // distinct ones
    UOp last_consumer;
    bool twice = false;      // by one consumer
    bool named = false;
  };

  std::string_view view(UOp u) {
    const Info* info = info_.find(u);
    if (!info) throw Failure("Ops." + std::string(name_of(u.op())) + " is not below the root");
    return {text_.data() + info->begin, info->size};
  }

  void mark_named() {
    for (UOp u : order_) info_[u] = {};
    for (UOp u : order_)
      for (UOp s : u.src()) {
        Info& info = *info_.find(s);
        if (info.last_consumer == u) info.twice = true;
        else info.consumers++, info.last_consumer = u;
      }
    auto name = [&](UOp u) { info_.find(u)->named = true; };
    name(root_);
    for (UOp u : order_) {
      if (u.is(Op::SINK))
        for (UOp s : u.src()) name(s);
      if (u.is(Op::STORE) && u.num_src() > 1) name(u.src(1));
      if (u.in({Op::REDUCE, Op::REDUCE_AXIS}) && u.num_src() > 0) name(u.src(0));
      if (u.in(kNeverNamed)) continue;
      const Info& info = *info_.find(u);
      if (info.consumers != 1 || info.twice || u.in(kAlwaysNamed)) name(u);
    }
  }

  void name_kernel(UOp ast) {
    auto known = std::find(kernels_.begin(), kernels_.end(), ast);
    size_t number = size_t(known - kernels_.begin());
    if (known != kernels_.end()) return;
    kernels_.push_back(ast);
    std::string body = Writer(ast).write();
    kernels_text_ += "def k" + std::to_string(number) + "():\n  ";
    for (char c : body) c == '\n' ? kernels_text_ += "\n  " : kernels_text_ += c;
    kernels_text_ += "\n  return ast\n\n";
  }

  // ---- pieces of expressions; all append to text_
  void str(std::string_view s) { text_ += s; }
  void src(UOp u) {
    const Info& info = *info_.find(u);
    text_.append(text_, info.begin, info.size);
  }
  void repr(Arg a) { a.append_repr(text_); }
  void plain(Arg a) { a.is_str() ? void(text_ += a.text()) : a.append_repr(text_); }

  void sources(std::span<const UOp> list) {
    text_ += '(';
    for (size_t i = 0; i < list.size(); i++) {
      if (i) text_ += ", ";
      src(list[i]);
    }
    text_ += list.size() == 1 ? ",)" : ")";
  }

  void size(Sint s) { s.is_uop() ? src(s.uop()) : repr(s.arg()); }

  void movement_argument(UOp u) {
    if (u.is(Op::PERMUTE)) return repr(u.arg());
    if (u.is(Op::FLIP)) {
      std::vector<Arg> axes;
      for (size_t i = 0; i < u.arg().items().size(); i++)
        if (u.arg()[i].as_bool()) axes.push_back(int64_t(i));
      return repr(u.graph().tuple(axes));
    }
    text_ += '(';
    size_t n = 0;
    if (u.in({Op::RESHAPE, Op::EXPAND})) {
      for (Sint s : marg_shape(u)) {
        if (n++) text_ += ',';
        size(s);
      }
    } else {
      for (auto [a, b] : marg_pairs(u)) {
        if (n++) text_ += ',';
        text_ += '(';
        size(a);
        text_ += ", ";
        size(b);
        text_ += ')';
      }
    }
    text_ += n == 1 ? ",)" : ")";
  }

  // Binary ops as infix; operands that are named or bracketed are given as text.
  void infix(UOp u, std::string_view left, std::string_view right) {
    std::string out;
    append_infix(out, u, left, right);
    text_ += out;
  }

  static bool on_device(UOp u) { return u.is(Op::CONST) && u.num_src() == 1 && u.src(0).is(Op::DEVICE); }

  bool special_form(UOp u) {
    switch (u.op()) {
      case Op::CONST:
        if (u.num_src() == 2 && u.src(0).is(Op::DEVICE) && u.src(1).is(Op::UNIQUE)) {
          str("UOp.unique_const("), str(u.dtype().repr()), str(", "), plain(u.arg()), str(", device="), repr(u.src(0).arg());
          str(", unique="), plain(u.src(1).arg()), str(")");
        } else {
          str("UOp.const("), str(u.dtype().repr()), str(", "), plain(u.arg());
          if (on_device(u)) str(", device="), repr(u.src(0).arg());
          str(")");
        }
        return true;
      case Op::DEFINE_VAR:
        if (u.num_src() != 0) return false;
        str("UOp.variable(\""), plain(u.arg()[0]), str("\", "), plain(u.arg()[1]), str(", "), plain(u.arg()[2]);
        if (u.dtype() != dtypes::index) str(", dtype="), str(u.dtype().repr());
        str(")");
        return true;
      case Op::CAST:
      case Op::BITCAST:
        src(u.src(0)), str("."), append_lower(text_, name_of(u.op())), str("("), str(u.dtype().repr()), str(")");
        return true;
      case Op::SPECIAL:
        if (u.num_src() != 1 || !u.src(0).is_const()) return false;
        str("UOp.special("), plain(u.src(0).arg()), str(", "), repr(u.arg()), str(", dtype="), str(u.dtype().repr()), str(")");
        return true;
      case Op::BUFFER:
        if (u.num_src() != 2 || !u.src(0).is(Op::UNIQUE) || !u.src(1).is(Op::DEVICE)) return false;
        str("UOp.new_buffer("), repr(u.src(1).arg()), str(", "), str(size_of(u).str()), str(", "), str(u.dtype().repr()), str(", ");
        plain(u.src(0).arg()), str(")");
        return true;
      case Op::COPY:
        if (u.num_src() != 2 || !u.src(1).is(Op::DEVICE)) return false;
        src(u.src(0)), str(".copy_to_device("), repr(u.src(1).arg()), str(")");
        return true;
      case Op::ENCDEC:
        src(u.src(0)), str(".encdec(");
        for (UOp s : u.src().subspan(1)) src(s), str(", ");
        str("arg="), repr(u.arg()), str(")");
        return true;
      case Op::REDUCE_AXIS: src(u.src(0)), str(".r("), plain(u.arg()[0]), str(", "), plain(u.arg()[1]), str(")"); return true;
      case Op::RANGE:
        if (u.num_src() < 1 || !u.src(0).is_const()) return false;
        str("UOp.range("), plain(u.src(0).arg());
        for (Arg a : u.arg().items()) str(", "), repr(a);
        if (u.num_src() > 1) str(", src="), sources(u.src().subspan(1));
        if (u.dtype() != dtypes::index) str(", dtype="), str(u.dtype().repr());
        str(")");
        return true;
      case Op::INDEX:
        if (u.num_src() < 2 || u.src(0).dtype().base() == u.dtype()) return false;
        src(u.src(0)), str(".index("), src(u.src(1)), str(", ");
        if (u.num_src() > 2) src(u.src(2)), str(", ");
        if (u.src(0).dtype() != u.dtype()) str("dtype="), str(u.dtype().repr()), str(")");
        else str("ptr=True)");
        return true;
      case Op::RESHAPE: case Op::PERMUTE: case Op::EXPAND: case Op::PAD: case Op::SHRINK: case Op::FLIP:
        src(u.src(0));
        if (u.is(Op::RESHAPE) && same_shape(shape_of(u.src(0)), shape_of(u))) str(".forced_reshape(");
        else str("."), append_lower(text_, name_of(u.op())), str("(");
        movement_argument(u), str(")");
        return true;
      default: return false;
    }
  }

  void expression(UOp u) {
    if (special_form(u)) return;
    if (u.in(kInfix - OpSet{Op::SUB}) && u.num_src() == 2) {
      UOp a = u.src(0), b = u.src(1);
      std::string constant;
      if (!u.is(Op::CMPNE) && on_device(a)) return constant = a.arg().str(), infix(u, constant, view(b));
      if (on_device(b)) return constant = b.arg().str(), infix(u, view(a), constant);
      return infix(u, view(a), view(b));
    }
    if (u.in(kMethods)) {
      u.num_src() ? src(u.src(0)) : str("UOp");
      str("."), append_lower(text_, name_of(u.op())), str("(");
      bool first = true;
      for (UOp s : u.num_src() ? u.src().subspan(1) : u.src()) {
        if (!first) str(", ");
        first = false;
        src(s);
      }
      if (!u.arg().is_none()) str(first ? "arg=" : ", arg="), repr(u.arg());
      str(")");
      return;
    }
    if (u.is(Op::KERNEL)) {
      UOp ast = u.arg()[0].uop();
      str("UOp(Ops.KERNEL, src="), sources(u.src()), str(", arg=Kernel(k");
      append_int(text_, std::find(kernels_.begin(), kernels_.end(), ast) - kernels_.begin());
      str("(), "), plain(u.arg()[1]), str("))");
      return;
    }
    str("UOp(Ops."), str(name_of(u.op())), str(", "), str(u.dtype().repr()), str(", "), sources(u.src());
    if (!u.arg().is_none()) str(", "), repr(u.arg());
    str(")");
  }

  UOp root_;
  std::vector<UOp> order_;
  UOpMap<Info> info_;
  std::string text_;
  std::vector<UOp> kernels_;
  std::string kernels_text_;
};

}  // namespace

Result<std::string> pyrender(UOp root) {
  return catch_failures([&] { return Writer(root).write(); });
}

}  // namespace tgc
