#include "lib/uop/render_open.h"

#include <unordered_map>

#include "lib/uop/graph.h"
#include "lib/uop/render.h"

namespace tgc {
namespace {

// Returns the infix operator of an op in 0.13 and later, where // and % are the ops that round down.
std::string_view symbol(Op op) {
  switch (op) {
    case Op::FLOORDIV: return "//";
    case Op::FLOORMOD: return "%";
    case Op::CDIV:
    case Op::CMOD: return "";
    default: return infix_symbol(op);
  }
}
int precedence(UOp u) {
  if (u.in({Op::FLOORDIV, Op::FLOORMOD})) return 1;
  return infix_precedence(u.op());
}

// Returns the value of the field `name` of an Open record; nullopt if there is no such field.
std::optional<Arg> field_of(Arg record, std::string_view name) {
  if (!record.is(RecordClass::Open)) return std::nullopt;
  RecordView view(record);
  for (size_t i = 0; i < view.size(); i++)
    if (view.field(i) == name) return view.values()[i];
  return std::nullopt;
}

// Returns the name of a PARAM or BUFFER; for a node without a name, returns `letter` and the slot number.
std::string slot_name(UOp u, char letter) {
  if (auto name = field_of(u.arg(), "name"); name && name->is_str()) return std::string(name->text());
  if (u.arg().is(RecordClass::Open) && RecordView(u.arg()).size())
    return letter + RecordView(u.arg()).values()[0].str();
  return letter + u.arg().str();
}

std::string range_name(UOp u) {
  if (!u.arg().is_tuple() || u.arg().items().size() < 2 || u.dtype() == dtypes::void_) return "loop" + u.arg().str();
  return "r" + range_str(u);
}

template <class Src>
std::string text_of(UOp u, Src src) {
  const size_t n = u.num_src();
  if (n == 2 && !symbol(u.op()).empty()) {
    std::string_view left = src(0), right = src(1);
    if (int p = precedence(u); p != 99) {
      if (precedence(u.src(0)) <= p) left = strip_parens(left);
      if (precedence(u.src(1)) < p) right = strip_parens(right);
    }
    return "(" + std::string(left) + std::string(symbol(u.op())) + std::string(right) + ")";
  }
  switch (u.op()) {
    case Op::DEFINE_VAR: return u.arg().is_tuple() && !u.arg().items().empty() ? u.arg()[0].str() : u.arg().str();
    case Op::PARAM: return slot_name(u, 'p');
    case Op::BUFFER: return slot_name(u, 'b');
    case Op::SPECIAL:
    case Op::CONST:
    case Op::VCONST: return u.arg().str();
    case Op::RANGE: return range_name(u);
    default: break;
  }
  if (n >= 1) switch (u.op()) {
      case Op::AFTER:
      case Op::BIND: return src(0);
      case Op::CAST: return "(" + std::string(u.dtype().repr().substr(7)) + ")(" + src(0) + ")";
      case Op::NEG: return "(-" + src(0) + ")";
      case Op::RECIPROCAL: return "(1/" + src(0) + ")";
      case Op::INDEX:
      case Op::STAGE:
      case Op::BUFFERIZE: {
        std::string out;
        for (size_t i = 1; i < n; i++) out.append("[").append(strip_parens(src(i))).append("]");
        return out;
      }
      case Op::STACK:
      case Op::VECTORIZE: {
        std::string out = "{";
        for (size_t i = 0; i < n; i++) out += (i ? "," : "") + src(i);
        return out + "}";
      }
      default: break;
    }
  if (n == 2) switch (u.op()) {
      case Op::MAX: return "max(" + src(0) + ", " + src(1) + ")";
      case Op::CDIV: return "cdiv(" + src(0) + ", " + src(1) + ")";
      case Op::CMOD: return "cmod(" + src(0) + ", " + src(1) + ")";
      default: break;
    }
  if (n == 3 && u.is(Op::WHERE)) return "(" + src(1) + " if " + src(0) + " else " + src(2) + ")";
  if (n == 3 && u.is(Op::MULACC)) return "(" + src(0) + "*" + src(1) + "+" + src(2) + ")";
  return "Ops." + std::string(shown_op(u));
}

}  // namespace

std::string render_open(UOp root) {
  // A text of over kMost bytes is replaced by the op's name, because texts grow exponentially if nodes are shared.
  constexpr size_t kMost = 4000;
  std::unordered_map<uint32_t, std::string> text;  // maps a node id to the node's text
  for (UOp u : toposort(root)) {
    std::string out = text_of(u, [&](size_t i) -> const std::string& { return text.find(u.src(i).id())->second; });
    text.emplace(u.id(), out.size() > kMost ? "Ops." + std::string(shown_op(u)) : std::move(out));
  }
  return std::move(text.find(root.id())->second);
}

}  // namespace tgc
