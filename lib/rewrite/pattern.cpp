#include "lib/rewrite/right_side.h"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "lib/support/arena.h"
#include "lib/support/result.h"
#include "lib/uop/render.h"

namespace tgc::pat {
namespace {
constexpr std::string_view kCaptureNames[] = {
#define X(name) #name,
    TGC_CAPTURES(X) TGC_CONST_CAPTURES(X)
#undef X
};

Arena& pattern_arena() {
  static Arena* arena = new Arena;  // never freed, because rules may be used until the process ends
  return *arena;
}
std::mutex& pattern_mutex() {
  static std::mutex mutex;
  return mutex;
}
}  // namespace

std::string_view name_of_capture(int id) { return kCaptureNames[id]; }

void* allocate_permanently(size_t size, size_t align) {
  std::lock_guard guard(pattern_mutex());
  return pattern_arena().allocate(size, align);
}

std::span<const char* const> copy_name_list(std::initializer_list<const char*> names) {
  std::lock_guard guard(pattern_mutex());
  return pattern_arena().copy(std::span(names.begin(), names.size()));
}

const PatNode* make_pattern_node(const PatNode& node, std::initializer_list<const PatNode*> children) {
  std::lock_guard guard(pattern_mutex());
  PatNode* n = pattern_arena().make<PatNode>(node);
  if (children.size()) n->children = pattern_arena().copy(std::span(children.begin(), children.size()));
  return n;
}

const PatNode* make_listing_call(std::string_view name, std::initializer_list<const PatNode*> operands) {
  return make_pattern_node({.sources = PatNode::Sources::Exact, .listing_name = name}, operands);
}
const PatNode* make_listing_function(std::string_view name, std::initializer_list<const PatNode*> operands) {
  return make_pattern_node({.sources = PatNode::Sources::Exact, .listing_name = name, .is_function = true}, operands);
}
const PatNode* make_listing_word(std::string_view word) { return make_pattern_node({.listing_name = word}); }

const PatNode* make_alu(Op op, std::initializer_list<const PatNode*> operands) {
  PatNode node{.ops = op, .sources = PatNode::Sources::Exact};
  // the node has the dtype of the last operand, but a CMPLT or CMPNE has dtype bool (UPat.alu)
  node.dtypes = op == Op::CMPLT || op == Op::CMPNE ? DTypeSet{Scalar::Bool} : (operands.end()[-1])->dtypes;
  bool all_same = std::all_of(operands.begin(), operands.end(), [&](auto* o) { return o == *operands.begin(); });
  node.permute = ops::Commutative.contains(op) && !all_same;
  return make_pattern_node(node, operands);
}

const PatNode* make_const(Const value, DTypeSet dtypes) {
  return make_pattern_node({.ops = Op::CONST, .dtypes = dtypes, .has_arg = true, .arg = value});
}

Const fold_unary(Op op, Const a) {
  TGC_CHECK(op == Op::NEG || op == Op::LOG2, "fold() does not support " + std::string(name_of(op)));
  return op == Op::NEG ? py_neg(a) : Const(std::log2(a.to_double()));
}

Const fold_binary(Op op, Const a, Const b) {
  switch (op) {
    case Op::ADD: return py_add(a, b);
    case Op::SUB: return py_sub(a, b);
    case Op::MUL: return py_mul(a, b);
    case Op::IDIV: return cdiv(a.to_int(), b.to_int());
    case Op::MOD: return cmod(a.to_int(), b.to_int());
    default: TGC_CHECK(false, "fold() does not support " + std::string(name_of(op))); return {};
  }
}

namespace number {
Const floor_div(Const a, Const b) {
  if (a.is_float() || b.is_float()) return std::floor(a.to_double() / b.to_double());
  return tgc::floor_div(a.to_int(), b.to_int());
}
Const floor_mod(Const a, Const b) { return tgc::floor_mod(a.to_int(), b.to_int()); }
Const true_div(Const a, Const b) { return tgc::true_div(a.to_int(), b.to_int()); }
Const ceil(Const a) { return Int::trunc(std::ceil(a.to_double())); }
Const floor(Const a) { return Int::trunc(std::floor(a.to_double())); }
}  // namespace number

namespace {

std::string op_names(OpSet ops) {
  if (ops == OpSet::all()) return "any op";
  std::string out;
  for (int i = 0; i < kNumOps; i++)
    if (ops.contains(Op(i))) out += (out.empty() ? "" : "|") + std::string(name_of(Op(i)));
  return out;
}

std::string dtype_names(DTypeSet set) {
  if (set == dtypes::ints) return "ints";
  if (set == dtypes::floats) return "floats";
  if (set == dtypes::sints) return "sints";
  if (set == dtypes::uints) return "uints";
  std::string out;
  for (int i = 0; i < kNumScalars; i++)
    if (set.bits() >> i & 1) out += (out.empty() ? "" : "|") + std::string(dtypes::of(Scalar(i)).repr().substr(7));
  return out;
}

std::string join_patterns(std::span<const PatNode* const> children, const char* separator) {
  std::string out;
  for (size_t i = 0; i < children.size(); i++) out += (i ? separator : "") + pattern_text(*children[i]);
  return out;
}

}  // namespace

std::string pattern_text(const PatNode& n) {
  if (n.has_alternatives) return "(" + join_patterns(n.children, " or ") + ")";
  if (n.listing_name == "-")
    return n.children.size() == 1 ? "-" + pattern_text(*n.children[0]) : "(" + join_patterns(n.children, " - ") + ")";
  if (!n.listing_name.empty())
    return std::string(n.listing_name) +
           (n.sources == PatNode::Sources::Any ? "" : "(" + join_patterns(n.children, ", ") + ")");
  bool is_constant = n.ops == OpSet{Op::CONST} && n.has_arg;
  bool plain_name = n.capture >= 0 && n.sources == PatNode::Sources::Any && !n.has_arg;
  std::string out;
  if (is_constant) {
    out = n.arg.repr();
  } else if (plain_name && (n.ops.empty() || n.ops == OpSet{Op::CONST, Op::VCONST})) {
    out = std::string(name_of_capture(n.capture));
  } else {
    std::string_view infix = n.ops.size() == 1 ? infix_symbol(n.ops.first()) : "";
    if (!infix.empty() && n.children.size() == 2) {
      out = "(" + pattern_text(*n.children[0]) + " " + std::string(infix) + " " + pattern_text(*n.children[1]) + ")";
    } else {
      bool is_cast = n.ops == OpSet{Op::CAST} && n.children.size() == 1;
      out = is_cast ? "cast" : n.ops.empty() ? "_" : op_names(n.ops);
      std::string args = join_patterns(n.children, ", ");
      if (is_cast && !n.dtypes.empty()) args += ", " + dtype_names(n.dtypes);
      if (n.sources == PatNode::Sources::Prefix) args += args.empty() ? "..." : ", ...";
      if (n.sources == PatNode::Sources::Each) args += "...";
      if (n.has_arg) args += (args.empty() ? "arg=" : ", arg=") + n.arg.repr();
      if (n.has_arg_ints) {
        args += args.empty() ? "arg=(" : ", arg=(";
        for (size_t i = 0; i < n.arg_ints.size(); i++) args += (i ? ", " : "") + std::to_string(n.arg_ints[i]);
        args += ")";
      }
      if (n.sources != PatNode::Sources::Any || !args.empty()) out += "(" + args + ")";
    }
    if (n.capture >= 0) out = std::string(name_of_capture(n.capture)) + ":=" + out;
  }
  if (!n.dtypes.empty() && !is_constant && n.sources == PatNode::Sources::Any) out += ":" + dtype_names(n.dtypes);
  return out;
}

}  // namespace tgc::pat
