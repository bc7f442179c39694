#include "lib/text/pyrender_open.h"

#include <algorithm>

#include "lib/text/open_args.h"
#include "lib/text/pyrender_open_reader.h"
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
constexpr size_t kMostInlined = 100;  // expressions in each other

std::string_view symbol(Op op) { return op == Op::FLOORDIV ? "//" : op == Op::FLOORMOD ? "%" : infix_symbol(op); }
int precedence(Op op) { return op == Op::FLOORDIV || op == Op::FLOORMOD ? 1 : infix_precedence(op); }

// The pieces one after the other: with one allocation where `+` makes one a piece.
template <class... Pieces>
std::string joined(const Pieces&... pieces) {
  std::string out;
  out.reserve((std::string_view(pieces).size() + ...));
  (out.append(std::string_view(pieces)), ...);
  return out;
}

std::string lower(std::string_view name) {
  std::string out(name);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c |= 32;
  return out;
}

bool is_weak(DType d) { return d.repr() == "dtypes.weakint" || d.repr() == "dtypes.weakfloat"; }

UOp base_of_open(UOp u) {
  while (u.num_src() && (u.in(ops::Movement) || u.is(Op::DETACH))) u = u.src(0);
  return u;
}

// A field of a ParamArg: by its name, or the two that come first by their place; None where it has its default.
Arg param_field(Arg param, std::string_view name, size_t place = SIZE_MAX) {
  if (!param.is(RecordClass::Open)) return {};
  RecordView view(param);
  for (size_t i = 0; i < view.size(); i++)
    if (view.field(i) == name || (view.field(i).empty() && i == place)) return view.values()[i];
  return {};
}

class OpenWriter {
 public:
  explicit OpenWriter(UOp root)
      : root_(root),
        graph_(root.graph()),
        order_(toposort(root)),
        texts_(order_.size()),
        place_(graph_),
        is_0_13_(graph_.release() == Release::v0_13),
        is_known_(is_0_13_ || graph_.release() == Release::v0_14) {
    for (size_t i = 0; i < order_.size(); i++) place_[order_[i]] = i;
  }

  OpenText write() {
    mark_named();
    std::vector<size_t> depth(order_.size());
    OpenText out;
    for (size_t i = 0; i < order_.size(); i++) {
      UOp u = order_[i];
      size_t deepest = 0;
      for (UOp s : u.src()) deepest = std::max(deepest, depth[place(s)]);
      if (deepest + 1 > kMostInlined) named_[i] = true;
      depth[i] = named_[i] ? 0 : deepest + 1;
      std::string text = expression(u);
      if (!u.tag().is_none()) text += ".rtag(" + repr(u.tag()) + ")";
      if (!named_[i]) {
        texts_[i] = std::move(text);
        continue;
      }
      texts_[i] = u == root_ ? "ast" : "c" + std::to_string(i);
      out.lines.push_back(u);
      if (!out.text.empty()) out.text += '\n';
      lines_.emplace_back(u, out.text.size());
      out.text.append(texts_[i]).append(" = ").append(strip_parens(text));
    }
    out.generic = generic_;
    return out;
  }

  // Each line is read in the graph that it is of, where equal nodes are one.
  CompleteText write_complete() {
    const OpenText letters = write();
    const std::string_view text = letters.text;
    CompleteText out{"", letters.generic || release_in_text(text) != graph_.release()};
    auto reader = open_pyrender_reader(graph_, text, {}, nullptr);
    reader->assume(order_, {});
    for (size_t i = 0; i < lines_.size(); i++) {
      auto [u, begin] = lines_[i];
      size_t end = i + 1 < lines_.size() ? lines_[i + 1].second - 1 : text.size();
      out.text.append(i ? "\n" : "").append(text.substr(begin, end - begin));
      auto read = catch_failures([&] { return reader->value_of_line(begin); });
      if (read && *read == u) continue;
      out.text.append("\n# ").append(texts_[place(u)]).append(" = ").append(plain(u));
      out.lost = true;
    }
    return out;
  }

 private:
  size_t place(UOp u) const { return *place_.find(u); }
  const std::string& src(UOp u, size_t i) const { return texts_[place(u.src(i))]; }

  void mark_named() {
    named_.assign(order_.size(), false);
    std::vector<size_t> users(order_.size()), last(order_.size(), SIZE_MAX);
    std::vector<bool> twice(order_.size());
    for (size_t i = 0; i < order_.size(); i++)
      for (UOp s : order_[i].src()) {
        size_t p = place(s);
        if (last[p] == i) twice[p] = true;
        else users[p]++, last[p] = i;
      }
    named_.back() = true;
    for (size_t i = 0; i < order_.size(); i++) {
      UOp u = order_[i];
      if (u.is(Op::SINK))
        for (UOp s : u.src()) named_[place(s)] = true;
      if (u.is(Op::STORE) && u.num_src() > 1) named_[place(u.src(1))] = true;
      if (u.is(Op::REDUCE) && u.num_src()) named_[place(u.src(0))] = true;
      if (u.is(Op::CONST) || (is_0_13_ && u.in(kNeverNamed))) continue;
      if (users[i] != 1 || twice[i] || u.in(kAlwaysNamed)) named_[i] = true;
      if (u.is(Op::FUNCTION) || (u.is(Op::CALL) && (is_0_13_ || !u.num_src() || u.src(0).dtype() == dtypes::void_)))
        generic_ = true;
    }
    if (!is_known_) generic_ = true;
  }

  // ---- values

  static std::string repr(Arg a) {
    std::string out;
    append_open_repr(out, a);
    return out;
  }
  static std::string str(Arg a) { return a.is_str() ? std::string(a.text()) : repr(a); }
  std::string sources(std::span<const UOp> list) const {
    std::string out = "(";
    for (size_t i = 0; i < list.size(); i++) out.append(i ? ", " : "").append(texts_[place(list[i])]);
    return out.append(list.size() == 1 ? ",)" : ")");
  }
  static std::string_view dtype(UOp u) { return u.dtype().repr(); }

  // ---- forms

  // UOp(Ops.X, dtype, (sources), arg): what every node can be written as.
  std::string whole(UOp u) const {
    std::string out = joined("UOp(Ops.", shown_op(u), ", ", dtype(u), ", ", sources(u.src()));
    Arg a = shown_arg(u);
    if (a.is_none()) return out += ")";
    return out + ", " + (u.is(Op::CONST) && is_const_float(a) ? "ConstFloat(" + a.repr() + ")" : repr(a)) + ")";
  }

  // The same, and so are those of its sources that have no line of their own.
  std::string plain(UOp u) {
    for (UOp s : u.src())
      if (!named_[place(s)]) texts_[place(s)] = plain(s);
    return whole(u) + (u.tag().is_none() ? "" : ".rtag(" + repr(u.tag()) + ")");
  }

  std::string constant(UOp u) const {
    if (!is_0_13_) return joined("UOp.const(", str(u.arg()), ", ", dtype(u), ")");
    std::string value = str(u.arg()), d(dtype(u));
    if (u.num_src() == 0) return joined("UOp.const(", d, ", ", value, ")");
    if (u.num_src() == 1) return "UOp.const(" + d + ", " + value + ", device=" + repr(u.src(0).arg()) + ")";
    return "UOp.unique_const(" + value + ", dtype=" + d + ", device=" + repr(u.src(1).arg()) +
           ", unique=" + str(u.src(0).arg()) + ")";
  }
  bool has_const_form(UOp u) const {
    if (u.num_src() == 0) return true;
    if (!is_0_13_) return false;
    if (u.num_src() == 1) return u.src(0).is(Op::DEVICE);
    return u.num_src() == 2 && u.src(0).is(Op::UNIQUE) && u.src(1).is(Op::DEVICE);
  }

  std::string range(UOp u) const {
    std::string out = "UOp.range(" + str(u.src(0).arg());
    for (Arg a : u.arg().items()) out += ", " + repr(a);
    if (u.num_src() > 1) out += ", src=" + sources(u.src().subspan(1));
    if (u.dtype().repr() != "dtypes.weakint") out += ", dtype=" + std::string(dtype(u));
    return out + ")";
  }

  std::string index(UOp u) const {
    std::string out = src(u, 0) + ".index(" + src(u, 1) + ", ";
    for (size_t i = 2; i < u.num_src(); i++) out += src(u, i) + ", ";
    if (u.src(0).dtype() == u.dtype()) return out + "ptr=True)";
    return out + "dtype=" + std::string(dtype(u)) + ")";
  }

  // The number of elements of a shape given as a source, where it is known; nullopt otherwise.
  static std::optional<std::string> count_of(UOp shape) {
    Int n = 1;
    auto times = [&](UOp s) {
      if (!s.is_const() || !s.arg().is_int()) return false;
      n = n * s.arg().as_int();
      return true;
    };
    if (!shape.is(Op::STACK)) return times(shape) ? std::optional(n.str()) : std::nullopt;
    for (UOp s : shape.src())
      if (!times(s)) return std::nullopt;
    return n.str();
  }
  std::optional<std::string> buffer(UOp u) const {
    if (is_0_13_) {
      if (u.num_src() != 2 || !u.src(0).is(Op::UNIQUE) || !u.src(1).is(Op::DEVICE)) return std::nullopt;
      return "UOp.new_buffer(" + repr(u.src(1).arg()) + ", " + str(u.arg()) + ", " + std::string(dtype(u)) + ", " +
             str(u.src(0).arg()) + ")";
    }
    if (u.num_src() != 1 || !u.arg().is(RecordClass::Open) || RecordView(u.arg()).name() != "ParamArg")
      return std::nullopt;
    Arg space = param_field(u.arg(), "addrspace"), device = param_field(u.arg(), "device");
    auto count = count_of(u.src(0));
    if (!count || (!space.is_none() && space.repr() != "AddrSpace.GLOBAL")) return std::nullopt;
    return "UOp.new_buffer(" + repr(device) + ", " + *count + ", " + std::string(dtype(u)) + ", " +
           str(param_field(u.arg(), "slot", 0)) + ")";
  }

  std::optional<std::string> reduction(UOp u) const {
    if (!u.arg().is_tuple() || u.arg().items().size() != 2 || !u.num_src()) return std::nullopt;
    Arg axes = u.arg()[1];
    std::string of = src(u, 0) + "._rop(" + str(u.arg()[0]) + ", ";
    if (axes.is_tuple()) return axes.items().empty() ? std::nullopt : std::optional(of + repr(axes) + ")");
    if (!axes.is_int() || axes.small_int() <= 0) return std::nullopt;
    of += "(";
    for (int64_t i = 0; i < axes.small_int(); i++) of += (i ? ", " : "") + std::to_string(i);
    return of + (axes.small_int() == 1 ? ",))" : "))");
  }

  // Whether 0.14's promotion leaves the operands as they are.
  static bool stays(UOp u) {
    auto out = promoted_0_14(u.src(0).dtype().repr(), u.src(1).dtype().repr());
    if (!out) return false;
    for (UOp s : u.src()) {
      UOp base = base_of_open(s);
      if (base.is_const() && base.arg().is_invalid()) continue;
      bool plain = s.is_const() || (s.is(Op::EXPAND) && s.src(0).is_const());
      if (is_weak(s.dtype()) && base.is_const()) {
        const bool is_float = out->find("float") != out->npos || out->find("half") != out->npos ||
                              out->find("double") != out->npos || out->find("fp8") != out->npos;
        std::string_view weak = *out == "dtypes.bool" ? *out : is_float ? "dtypes.weakfloat" : "dtypes.weakint";
        if (!plain || s.dtype().repr() != weak || !s.tag().is_none()) return false;
      } else if (s.dtype().repr() != *out) {
        return false;
      }
    }
    return true;
  }

  std::string infix(UOp u) const {
    const auto is_number = [&](UOp s) {
      return is_0_13_ && s.is_const() && s.num_src() == 1 && s.src(0).is(Op::DEVICE);
    };
    if (!is_0_13_ && !stays(u)) return joined(src(u, 0), ".alu(Ops.", shown_op(u), ", ", src(u, 1), ")");
    UOp a = u.src(0), b = u.src(1);
    std::string number;
    std::string_view l = src(u, 0), r = src(u, 1);
    if (is_number(a) && !u.is(Op::CMPNE)) l = number = str(a.arg());
    else if (is_number(b)) r = number = str(b.arg());
    if (int p = precedence(u.op()); p != 99) {
      if (precedence(a.op()) <= p) l = strip_parens(l);
      if (precedence(b.op()) < p) r = strip_parens(r);
    }
    return joined("(", l, symbol(u.op()), r, ")");
  }

  // x.exp2(), a.store(b, c, arg=...), UOp.sink()
  std::string method(UOp u) const {
    std::string out = joined(u.num_src() ? src(u, 0) : "UOp", ".", lower(shown_op(u)), "(");
    for (size_t i = 1; i < u.num_src(); i++) out.append(i > 1 ? ", " : "").append(src(u, i));
    if (u.arg().is_none()) return out += ")";
    return out + (u.num_src() > 1 ? ", arg=" : "arg=") + repr(u.arg()) + ")";
  }

  // The form that the op alone has; nullopt when this node has none.
  std::optional<std::string> special_form(UOp u) const {
    const size_t n = u.num_src();
    switch (u.op()) {
      case Op::CONST:
        if (has_const_form(u)) return constant(u);
        break;
      case Op::DEFINE_VAR:
        if (!is_0_13_ || n != 0 || !u.arg().is_tuple() || u.arg().items().size() < 3) break;
        return "UOp.variable(\"" + str(u.arg()[0]) + "\", " + str(u.arg()[1]) + ", " + str(u.arg()[2]) +
               (u.dtype().repr() != "dtypes.weakint" ? ", dtype=" + std::string(dtype(u)) : "") + ")";
      case Op::CAST:
      case Op::BITCAST:
        if (n == 0 || (!is_0_13_ && u.dtype() == u.src(0).dtype())) break;
        return src(u, 0) + "." + lower(shown_op(u)) + "(" + std::string(dtype(u)) + ")";
      case Op::SPECIAL:
        if (n != 1 || !u.src(0).is_const()) break;
        return "UOp.special(" + str(u.src(0).arg()) + ", " + repr(u.arg()) + ", dtype=" + std::string(dtype(u)) + ")";
      case Op::BUFFER: return buffer(u);
      case Op::COPY:
        if (n != (is_0_13_ ? 2u : 1u) || (is_0_13_ && !u.src(1).is(Op::DEVICE))) break;
        return src(u, 0) + ".copy_to_device(" + repr(is_0_13_ ? u.src(1).arg() : u.arg()) + ")";
      case Op::CUSTOM_FUNCTION:
        return "UOp(Ops.CUSTOM_FUNCTION, " + (is_0_13_ ? std::string(dtype(u)) + ", " : "") +
               "src=" + sources(u.src()) + ", arg=" + repr(u.arg()) + ")";
      case Op::REDUCE: return reduction(u);
      case Op::RANGE:
        if (n >= 1 && u.src(0).is_const() && u.arg().is_tuple()) return range(u);
        break;
      case Op::INDEX: {
        if (n < 2) break;
        DType from = is_0_13_ ? u.src(0).dtype().base() : u.src(0).dtype();
        if (from != u.dtype()) return index(u);
        break;
      }
      case Op::CDIV:
      case Op::CMOD:
        if (n != 2) break;
        return src(u, 0) + ".alu(Ops." + std::string(shown_op(u)) + ", " + src(u, 1) + ")";
      case Op::WHERE:
        if (n != 3) break;
        if (is_0_13_) return method(u);
        return src(u, 0) + ".alu(Ops.WHERE, " + src(u, 1) + ", " + src(u, 2) + ")";
      case Op::UNIQUE:
        if (is_0_13_) return method(u);
        break;
      default: break;
    }
    return std::nullopt;
  }

  std::string expression(UOp u) const {
    if (!is_known_) return whole(u);
    if (auto form = special_form(u)) return *form;
    if (u.in(kInfix) && u.num_src() == 2) return infix(u);
    if (u.in(kMethods)) return method(u);
    return whole(u);
  }

  UOp root_;
  Graph& graph_;
  std::vector<UOp> order_;           // c12 is order_[12]
  std::vector<std::string> texts_;   // of each: its name, or what it is
  UOpMap<size_t> place_;
  std::vector<bool> named_;
  std::vector<std::pair<UOp, size_t>> lines_;  // of the named nodes, where each begins
  const bool is_0_13_, is_known_;
  bool generic_ = false;
};

// 0.14's dtypes in their order, each with those that it promotes to directly, as bits.
struct Promotion {
  std::string_view dtype;
  uint32_t to;
};
enum : uint32_t {
  kBool,
  kWeakInt,
  kI8,
  kU8,
  kI16,
  kU16,
  kI32,
  kU32,
  kI64,
  kU64,
  kWeakFloat,
  kE4M3,
  kE4M3Z,
  kE5M2,
  kE5M2Z,
  kHalf,
  kBF16,
  kFloat,
  kDouble,
  kNumPromoted
};
constexpr uint32_t bit(uint32_t i) { return 1u << i; }
constexpr Promotion kPromotions[kNumPromoted] = {
    {"dtypes.bool", bit(kWeakInt)},
    {"dtypes.weakint", bit(kI8) | bit(kU8)},
    {"dtypes.char", bit(kI16)},
    {"dtypes.uchar", bit(kI16) | bit(kU16)},
    {"dtypes.short", bit(kI32)},
    {"dtypes.ushort", bit(kI32) | bit(kU32)},
    {"dtypes.int", bit(kI64)},
    {"dtypes.uint", bit(kI64) | bit(kU64)},
    {"dtypes.long", bit(kWeakFloat)},
    {"dtypes.ulong", bit(kWeakFloat)},
    {"dtypes.weakfloat", bit(kE4M3) | bit(kE5M2) | bit(kE4M3Z) | bit(kE5M2Z)},
    {"dtypes.fp8e4m3", bit(kHalf) | bit(kBF16)},
    {"dtypes.fp8e4m3fnuz", bit(kHalf) | bit(kBF16)},
    {"dtypes.fp8e5m2", bit(kHalf) | bit(kBF16)},
    {"dtypes.fp8e5m2fnuz", bit(kHalf) | bit(kBF16)},
    {"dtypes.half", bit(kFloat)},
    {"dtypes.bfloat16", bit(kFloat)},
    {"dtypes.float", bit(kDouble)},
    {"dtypes.double", 0},
};

// All that it promotes to, itself too.
constexpr uint32_t reachable(uint32_t i) {
  uint32_t out = bit(i);
  for (uint32_t k = i; k < kNumPromoted; k++)  // what a dtype promotes to stands behind it
    if (out >> k & 1) out |= kPromotions[k].to;
  return out;
}

}  // namespace

std::optional<std::string_view> promoted_0_14(std::string_view a, std::string_view b) {
  if (a == b && a != "dtypes.void") return a;
  uint32_t both = ~0u;
  for (std::string_view d : {a, b}) {
    auto it =
        std::find_if(std::begin(kPromotions), std::end(kPromotions), [&](const Promotion& p) { return p.dtype == d; });
    if (it == std::end(kPromotions)) return std::nullopt;
    both &= reachable(uint32_t(it - kPromotions));
  }
  return kPromotions[__builtin_ctz(both)].dtype;
}

OpenText pyrender_open(UOp root) { return OpenWriter(root).write(); }

CompleteText pyrender_open_complete(UOp root) { return OpenWriter(root).write_complete(); }

}  // namespace tgc
