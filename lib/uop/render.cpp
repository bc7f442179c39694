#include "lib/uop/render.h"

#include <algorithm>
#include <unordered_map>

#include "lib/support/pysort.h"
#include "lib/support/pytext.h"
#include "lib/uop/facts.h"
#include "lib/uop/graph.h"

namespace tgc {

std::string_view infix_symbol(Op op) {
  switch (op) {
    case Op::ADD: return "+";
    case Op::SUB: return "-";
    case Op::IDIV: return "//";
    case Op::MOD: return "%";
    case Op::SHL: return "<<";
    case Op::SHR: return ">>";
    case Op::MUL: return "*";
    case Op::CMPLT: return "<";
    case Op::CMPNE: return "!=";
    case Op::AND: return "&";
    case Op::OR: return "|";
    case Op::XOR: return "^";
    default: return "";
  }
}

int infix_precedence(Op op) {
  switch (op) {
    case Op::MUL: case Op::IDIV: case Op::MOD: return 1;
    case Op::ADD: case Op::SUB: return 2;
    case Op::SHL: case Op::SHR: return 3;
    case Op::AND: return 4;
    case Op::XOR: return 5;
    case Op::OR: return 6;
    default: return 99;
  }
}

std::string_view strip_parens(std::string_view text) {
  if (text.size() < 2 || text.front() != '(' || text.back() != ')') return text;
  std::string_view inner = text.substr(1, text.size() - 2);
  constexpr size_t kBlock = 32;
  int64_t depth = 0;
  for (size_t i = 0; i < inner.size();) {
    if (i + kBlock <= inner.size()) {  // fast path: skip a block if its number of ')' cannot make `depth` negative
      uint8_t opening = 0, closing = 0;
      for (size_t k = 0; k < kBlock; k++) opening += inner[i + k] == '(', closing += inner[i + k] == ')';
      if (depth >= closing) {
        depth += opening - closing;
        i += kBlock;
        continue;
      }
    }
    depth += (inner[i] == '(') - (inner[i] == ')');
    if (depth < 0) return text;
    i++;
  }
  return depth == 0 ? inner : text;
}

void append_infix(std::string& out, UOp x, std::string_view left, std::string_view right) {
  int p = infix_precedence(x.op());
  if (p != 99) {
    if (infix_precedence(x.src(0).op()) <= p) left = strip_parens(left);
    if (infix_precedence(x.src(1).op()) < p) right = strip_parens(right);
  }
  out.append("(").append(left).append(infix_symbol(x.op())).append(right).append(")");
}

std::string range_str(UOp range) {
  std::string out;
  auto number = [](Arg a) {
    if (!a.is_integral()) return std::string("?");
    return a.as_int() < 0 ? "m" + (-a.as_int()).str() : a.str();
  };
  if (!range.arg().is_tuple()) return number(range.arg());
  auto items = range.arg().items();
  for (size_t i = 0; i + 1 < items.size(); i++) out += (i ? "_" : "") + number(items[i]);
  return out;
}

// Returns the color of a RANGE's axis type; "" if unknown. DEVICE and WEAK are axis types of later releases.
static std::string_view color_of_range(UOp range) {
  if (!range.arg().is_tuple() || range.arg().items().empty()) return "";
  Arg type = range.arg().items().back();
  if (type.kind() == Arg::Kind::AxisType) return axis_color(type.axis_type());
  return type.repr() == "AxisType.DEVICE" ? "green" : type.repr() == "AxisType.WEAK" ? "WHITE" : "";
}

std::string multirange_str(std::span<const UOp> ranges, bool color, size_t pad) {
  std::vector<UOp> sorted(ranges.begin(), ranges.end());
  if (sorted.size() > 1) py_sort(sorted, [](UOp a, UOp b) { return py_compare(a.arg(), b.arg()) == Order::Less; });
  std::string out;
  size_t length = 0;
  for (UOp r : sorted) {
    if (length) out += ',', length++;
    std::string text = range_str(r);
    length += text.size();
    out += color ? colored(text, color_of_range(r)) : text;
  }
  if (length < pad) out.append(pad - length, ' ');
  return out;
}

bool is_tree_within(UOp u, size_t nodes) {
  std::vector<UOp> worklist{u};
  for (size_t done = 0; !worklist.empty(); done++) {
    UOp x = worklist.back();
    if (done + worklist.size() + x.num_src() > nodes) return false;
    worklist.pop_back();
    worklist.insert(worklist.end(), x.src().begin(), x.src().end());
  }
  return true;
}

constexpr size_t kMaxTextBytes = size_t(64) << 20;  // limit on the total size of the texts of all nodes

std::string render(UOp root, bool simplified, const std::function<std::string(UOp)>& foreign_node_text) {
  if (root.graph().is_foreign()) return render_foreign_graph(root);
  if (simplified) root = root.simplify();
  if (root.is(Op::CONST)) return root.arg().str();  // fast path: most sizes are constants
  std::unordered_map<uint32_t, std::string> text;
  size_t bytes = 0;
  for (UOp u : toposort(root)) {
    auto src = [&](size_t i) -> const std::string& { return text.find(u.src(i).id())->second; };
    std::string out;
    if (!infix_symbol(u.op()).empty()) {
      append_infix(out, u, src(0), src(1));
    } else switch (u.op()) {
        case Op::DEFINE_VAR: out = u.arg().is_tuple() ? u.arg()[0].str() : u.arg().str(); break;
        case Op::SPECIAL: out = u.arg().str(); break;
        case Op::RANGE: out = "r" + range_str(u); break;
        case Op::CONST:
        case Op::VCONST: out = u.arg().str(); break;
        case Op::CAST: out = "(" + std::string(u.dtype().repr().substr(7)) + ")(" + src(0) + ")"; break;
        case Op::BIND: out = src(0); break;
        case Op::NEG: out = "(-" + src(0) + ")"; break;
        case Op::RECIPROCAL: out = "(1/" + src(0) + ")"; break;
        case Op::MAX: out = "max(" + src(0) + ", " + src(1) + ")"; break;
        case Op::MULACC: out = "(" + src(0) + "*" + src(1) + "+" + src(2) + ")"; break;
        case Op::WHERE: out = "(" + src(1) + " if " + src(0) + " else " + src(2) + ")"; break;
        case Op::INDEX:
        case Op::BUFFERIZE:
          for (size_t i = 1; i < u.num_src(); i++) out.append("[").append(strip_parens(src(i))).append("]");
          break;
        case Op::VECTORIZE: {
          bool same =
              u.num_src() > 0 && std::all_of(u.src().begin(), u.src().end(), [&](UOp s) { return s == u.src(0); });
          out = "{";
          for (size_t i = 0; i < (same ? 1 : u.num_src()); i++) out += (i ? "," : "") + src(i);
          out += same ? ", ...}" : "}";
          break;
        }
        default: out = foreign_node_text ? foreign_node_text(u) : "Ops." + std::string(name_of(u.op())); break;
      }
    if ((bytes += out.size()) > kMaxTextBytes) throw Failure("the text of an expression is longer than 64 MiB");
    text.emplace(u.id(), std::move(out));
  }
  return std::move(text.find(root.id())->second);
}

Int sym_infer(UOp root, const std::function<std::optional<Int>(std::string_view)>& value_of) {
  UOpMap<Int> value(root.graph());
  for (UOp u : toposort(root)) {
    auto src = [&](size_t i) { return *value.find(u.src(i)); };
    Int out;
    switch (u.op()) {
      case Op::CONST: out = u.arg().to_const().to_int(); break;
      case Op::DEFINE_VAR: {
        auto known = value_of(u.arg()[0].text());
        if (!known) throw Failure("variable " + u.arg()[0].repr() + " has no value");
        out = *known;
        break;
      }
      case Op::BIND: out = src(0); break;
      case Op::CAST: out = truncate(src(0), u.dtype()).to_int(); break;
      case Op::ADD: out = src(0) + src(1); break;
      case Op::SUB: out = src(0) - src(1); break;
      case Op::MUL: out = src(0) * src(1); break;
      case Op::NEG: out = -src(0); break;
      case Op::IDIV: out = cdiv(src(0), src(1)); break;
      case Op::MOD: out = cmod(src(0), src(1)); break;
      case Op::SHL: out = src(0) << uint32_t(src(1).int64_or_throw("shift")); break;
      case Op::SHR: out = src(0) >> uint32_t(src(1).int64_or_throw("shift")); break;
      case Op::AND: out = src(0) & src(1); break;
      case Op::OR: out = src(0) | src(1); break;
      case Op::XOR: out = src(0) ^ src(1); break;
      case Op::MAX: out = std::max(src(0), src(1)); break;
      case Op::CMPLT: out = int(src(0) < src(1)); break;
      case Op::CMPNE: out = int(src(0) != src(1)); break;
      case Op::CMPEQ: out = int(src(0) == src(1)); break;
      case Op::WHERE: out = src(0) != 0 ? src(1) : src(2); break;
      case Op::MULACC: out = src(0) * src(1) + src(2); break;
      default: throw Failure("Ops." + std::string(name_of(u.op())) + " in a size cannot be evaluated");
    }
    value[u] = out;
  }
  return *value.find(root);
}

namespace {

// Returns the infix operator of an op in any release, or "". 0.13 and later print // and % for ops that round down.
std::string_view foreign_infix_symbol(Op op) {
  switch (op) {
    case Op::FLOORDIV: return "//";
    case Op::FLOORMOD: return "%";
    case Op::CDIV:
    case Op::CMOD: return "";
    default: return infix_symbol(op);
  }
}
int foreign_infix_precedence(UOp u) {
  if (u.in({Op::FLOORDIV, Op::FLOORMOD})) return 1;
  return infix_precedence(u.op());
}

std::optional<Arg> find_record_field(Arg record, std::string_view name) {
  if (!record.is(RecordClass::Open)) return std::nullopt;
  RecordView view(record);
  for (size_t i = 0; i < view.size(); i++)
    if (view.field(i) == name) return view.values()[i];
  return std::nullopt;
}

std::string slot_name(UOp u, char letter) {
  if (auto name = find_record_field(u.arg(), "name"); name && name->is_str()) return std::string(name->text());
  if (u.arg().is(RecordClass::Open) && RecordView(u.arg()).size())
    return letter + RecordView(u.arg()).values()[0].str();
  return letter + u.arg().str();
}

std::string range_name(UOp u) {
  if (!u.arg().is_tuple() || u.arg().items().size() < 2 || u.dtype() == dtypes::void_) return "loop" + u.arg().str();
  return "r" + range_str(u);
}

template <class Src>
std::string foreign_node_text(UOp u, Src src) {
  const size_t n = u.num_src();
  if (n == 2 && !foreign_infix_symbol(u.op()).empty()) {
    std::string_view left = src(0), right = src(1);
    if (int p = foreign_infix_precedence(u); p != 99) {
      if (foreign_infix_precedence(u.src(0)) <= p) left = strip_parens(left);
      if (foreign_infix_precedence(u.src(1)) < p) right = strip_parens(right);
    }
    return "(" + std::string(left) + std::string(foreign_infix_symbol(u.op())) + std::string(right) + ")";
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
  return "Ops." + std::string(printed_op_name(u));
}

}  // namespace

std::string render_foreign_graph(UOp root) {
  // A longer text is replaced by the op's name, because texts grow exponentially if nodes are shared.
  constexpr size_t kMaxOperandBytes = 4000;
  std::unordered_map<uint32_t, std::string> text;
  for (UOp u : toposort(root)) {
    std::string out =
        foreign_node_text(u, [&](size_t i) -> const std::string& { return text.find(u.src(i).id())->second; });
    text.emplace(u.id(), out.size() > kMaxOperandBytes ? "Ops." + std::string(printed_op_name(u)) : std::move(out));
  }
  return std::move(text.find(root.id())->second);
}

}  // namespace tgc
