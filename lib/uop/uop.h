// UOp: a handle to a node of the IR (tinygrad uop/ops.py). Nodes are immutable and hash-consed by their Graph, so two
// handles of one graph are equal if and only if op, dtype, sources, arg and tag are equal. A handle is a pointer. The
// empty UOp, a null pointer, stands for Python's None.
//
// Methods and operators build the same nodes as tinygrad's (mixin/math.py). Differences between C++ and Python:
//   a / b is IDIV (truncating division, as in C), a % b is MOD; Python's true division is fdiv(a, b)
//   a == b compares handles; lt, gt, le, ge, eq, ne build comparison nodes
//   a Const operand becomes a constant node with the dtype, device and shape of the other operand (ufix)
#pragma once
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/support/arena.h"
#include "lib/uop/arg.h"

namespace tgc {

class Graph;
struct Node;
struct Bounds;

// A non-owning list of UOps, for function parameters. A braced list, an array, a vector, a span or one UOp converts to
// it. Use a UOpSpan only within the full expression that creates it.
class UOpSpan;

class UOp {
 public:
  constexpr UOp() = default;
  constexpr explicit UOp(const Node* node) : node_(node) {}

  explicit operator bool() const { return node_ != nullptr; }
  friend bool operator==(UOp a, UOp b) { return a.node_ == b.node_; }

  inline Op op() const;
  inline DType dtype() const;
  inline std::span<const UOp> src() const;
  inline UOp src(size_t i) const;  // throws Failure if the node has no source `i`
  inline size_t num_src() const;
  inline const Arg& arg() const;
  inline Arg tag() const;
  inline uint32_t id() const;  // index of the node in its graph; greater than the ids of the node's sources
  Graph& graph() const { return *static_cast<Graph*>(Arena::owner_of(node_)); }
  const Node* node() const { return node_; }
  inline bool is(Op op) const;
  inline bool in(OpSet ops) const;
  bool is_const() const { return is(Op::CONST); }
  inline bool is_invalid() const;

  // ---- modified copies; these functions return this node itself if nothing changes
  struct NodeChanges {
    std::optional<Op> op = {};
    std::optional<DType> dtype = {};
    std::optional<std::span<const UOp>> src = {};
    std::optional<Arg> arg = {};
    std::optional<Arg> tag = {};
  };
  UOp replace(const NodeChanges& changes) const;
  UOp with_src(UOpSpan src) const;
  UOp with_dtype(DType dtype) const { return replace({.dtype = dtype}); }
  UOp with_arg(Arg arg) const { return replace({.arg = arg}); }
  UOp rtag(Arg tag = true) const { return replace({.tag = tag}); }

  // ---- constants with the dtype, device and shape of this node
  UOp const_like(Const value) const;
  UOp const_like(std::span<const Const> values) const;  // one value for each element; sets no device or shape

  UOp alu(Op op, UOpSpan rest) const;  // op(this, rest...), with the last operand's dtype; bool for a comparison
  UOp alu(Op op) const;
  UOp alu(Op op, UOp b) const;
  UOp alu(Op op, UOp b, UOp c) const;
  UOp cast(DType dtype) const;
  UOp bitcast(DType dtype) const;
  UOp neg() const;  // returns logical_not() of a bool, else the product with -1
  UOp logical_not() const;
  UOp lt(UOp b) const { return alu(Op::CMPLT, b); }
  UOp gt(UOp b) const { return b.alu(Op::CMPLT, *this); }
  UOp le(UOp b) const { return gt(b).logical_not(); }
  UOp ge(UOp b) const { return lt(b).logical_not(); }
  UOp ne(UOp b) const { return alu(Op::CMPNE, b); }
  UOp eq(UOp b) const { return ne(b).logical_not(); }
  UOp lt(Const b) const { return lt(const_like(b)); }
  UOp gt(Const b) const { return gt(const_like(b)); }
  UOp le(Const b) const { return le(const_like(b)); }
  UOp ge(Const b) const { return ge(const_like(b)); }
  UOp ne(Const b) const { return ne(const_like(b)); }
  UOp eq(Const b) const { return eq(const_like(b)); }
  UOp maximum(UOp b) const { return alu(Op::MAX, b); }
  UOp maximum(Const b) const { return maximum(const_like(b)); }
  UOp minimum(UOp b) const { return neg().maximum(b.neg()).neg(); }
  UOp minimum(Const b) const { return neg().maximum(py_neg(b)).neg(); }
  UOp where(UOp yes, UOp no) const { return alu(Op::WHERE, yes, no); }  // this node is the condition
  UOp where(UOp yes, Const no) const { return where(yes, yes.const_like(no)); }
  UOp where(Const yes, UOp no) const { return where(no.const_like(yes), no); }
  UOp reciprocal() const { return alu(Op::RECIPROCAL); }
  UOp exp2() const { return alu(Op::EXP2); }
  UOp log2() const { return alu(Op::LOG2); }
  UOp sin() const { return alu(Op::SIN); }
  UOp sqrt() const { return alu(Op::SQRT); }
  UOp trunc() const { return alu(Op::TRUNC); }
  UOp pow(UOp b) const { return alu(Op::POW, b); }
  UOp pow(Const b) const { return pow(const_like(b)); }
  UOp threefry(UOp seed) const { return alu(Op::THREEFRY, seed); }

  UOp broadcast(int64_t count) const;
  // Returns element `i`. Folds VECTORIZE, VCONST (both throw Failure if they have no such element) and CONST.
  UOp gep(int64_t i) const;
  UOp gep(std::span<const int64_t> indices) const;  // the vector of these elements; gep(i) for one index i
  UOp gep(Arg indices) const;                       // like gep(span); `indices` is a Tuple of Ints

  UOp index(UOpSpan indices, DType dtype) const;
  UOp index(UOp i) const;                          // makes an INDEX whose dtype is that of a buffer element
  UOp index_ptr(UOp i) const;                      // makes an INDEX with the buffer's pointer dtype (ptr=True)
  UOp index_ptr(UOp i, UOp valid) const;
  UOp load() const;                                // makes a LOAD whose dtype is that of a buffer element
  UOp load(UOpSpan rest, DType dtype) const;
  UOp store(UOp value) const;
  UOp store(UOp value, std::span<const UOp> ranges) const;
  UOp end(UOpSpan ranges) const;                   // makes an END of the ranges; returns this node if there are none
  UOp after(UOpSpan deps) const;
  UOp barrier(UOpSpan deps) const;
  UOp reduce(UOpSpan ranges, Op op) const;
  UOp assign(UOp value) const;
  UOp valid(UOp cond) const;  // returns cond.where(*this, Invalid)
  // The next two throw Failure unless the scalar dtype is dtypes.index.
  UOp get_idx() const;        // returns idx if this node is idx.valid(cond); otherwise this node
  UOp get_valid() const;      // returns cond if this node is idx.valid(cond); otherwise false for Invalid, else true

  inline Const vmin() const;
  inline Const vmax() const;
  inline const Bounds& bounds() const;
  std::span<const UOp> ranges() const;

  // ---- simplification, by the rules that passes/symbolic installs (install_simplifier)
  UOp simplify() const;
  Arg ssimplify() const;  // like simplify(), but returns the value if the result is a constant

 private:
  const Bounds& compute_bounds() const;

  const Node* node_ = nullptr;
};

class UOpSpan : public std::span<const UOp> {
 public:
  UOpSpan() = default;
  UOpSpan(std::initializer_list<UOp> list) : span(list.begin(), list.size()) {}
  UOpSpan(const std::vector<UOp>& v) : span(v) {}
  UOpSpan(std::span<const UOp> s) : span(s) {}
  UOpSpan(const UOp& u) : span(&u, 1) {}
  template <size_t N>
  UOpSpan(const UOp (&list)[N]) : span(list, N) {}
};

// Bounds on the values of a node (ops.py:_min_max).
struct Bounds {
  Const min, max;
};
struct RangeList;
struct ShapeFact;
struct DeviceFact;

// The kind of a node, for fast selection of rules: the op, but the CONSTs 0, 1, -1 and Invalid have their own kinds.
enum NodeKind : uint8_t { kZero = kNumOps, kOne, kMinusOne, kInvalid };
inline constexpr size_t kNumNodeKinds = kInvalid + 1;
uint8_t kind_of_const(Arg arg);  // returns the kind of a CONST with this arg; 1 and 1.0 have the same kind

// The result of rewriting one node, cached in the node by the rewriter (see RewriteResults in lib/rewrite/workspace.h).
struct RewriteSlot {
  const Node* result = nullptr;
  uint32_t slot_mark = 0;

  void set(const Node* new_result, uint32_t new_mark) { result = new_result, slot_mark = new_mark; }
  RewriteSlot& operator=(const RewriteSlot&) = delete;  // an assignment could overwrite fields in the tail padding
};

// Data that the rewriter stores in a node. Only lib/rewrite may access the data; hashes and comparisons ignore it.
class RewriterData {
  friend struct RewriterDataAccess;
  [[no_unique_address]] RewriteSlot result_slot_ = {};
  uint16_t declined_set_number_ = 0;
};

// A node. The sources follow the node in memory, so the last fields, next to the sources, are the most frequently used
// ones.
struct Node {
  mutable const ShapeFact* shape = nullptr;  // shape, device, bounds and ranges are null until computed
  mutable const DeviceFact* device = nullptr;
  Arg tag;
  mutable const Bounds* bounds = nullptr;
  mutable const RangeList* ranges = nullptr;
  mutable int32_t axis = kAxisUnknown;
  uint32_t hash;
  Arg arg;
  DType dtype;
  [[no_unique_address]] mutable RewriterData rewriter_data = {};
  Op op;
  uint8_t kind;
  uint32_t id;
  uint32_t num_src;

  const UOp* src() const { return reinterpret_cast<const UOp*>(this + 1); }

  static constexpr int32_t kAxisUnknown = -2, kNoAxis = -1;
};
static_assert(sizeof(Node) == 104 && alignof(Node) == alignof(UOp));

inline Op UOp::op() const { return node_->op; }
inline DType UOp::dtype() const { return node_->dtype; }
inline std::span<const UOp> UOp::src() const { return {node_->src(), node_->num_src}; }
[[noreturn, gnu::cold]] void throw_no_source(UOp u, size_t i);
inline UOp UOp::src(size_t i) const {
  if (i >= node_->num_src) [[unlikely]] throw_no_source(*this, i);
  return node_->src()[i];
}
inline size_t UOp::num_src() const { return node_->num_src; }
inline const Arg& UOp::arg() const { return node_->arg; }
inline Arg UOp::tag() const { return node_->tag; }
inline uint32_t UOp::id() const { return node_->id; }
inline bool UOp::is(Op op) const { return node_->op == op; }
inline bool UOp::in(OpSet ops) const { return ops.contains(node_->op); }
inline const Bounds& UOp::bounds() const { return node_->bounds ? *node_->bounds : compute_bounds(); }
inline Const UOp::vmin() const { return bounds().min; }
inline Const UOp::vmax() const { return bounds().max; }
inline bool UOp::is_invalid() const { return node_->arg.is_invalid(); }

inline Arg::Arg(tgc::UOp u) : kind_(Kind::UOp), record_class_(0), pointer_(u.node()) {}
inline UOp Arg::uop() const { return tgc::UOp(static_cast<const Node*>(pointer_)); }

UOp operator+(UOp a, UOp b);
UOp operator-(UOp a, UOp b);  // a + -b
UOp operator*(UOp a, UOp b);
UOp operator/(UOp a, UOp b);  // IDIV
UOp operator%(UOp a, UOp b);
UOp operator&(UOp a, UOp b);  // &, | and ^ throw Failure unless the dtype of `a` is a bool or an int
UOp operator|(UOp a, UOp b);
UOp operator^(UOp a, UOp b);
UOp operator<<(UOp a, UOp b);
UOp operator>>(UOp a, UOp b);
inline UOp operator-(UOp a) { return a.neg(); }
UOp fdiv(UOp a, UOp b);  // a * b.reciprocal()

#define TGC_MIXED(op)                                                        \
  inline UOp operator op(UOp a, Const b) { return a op a.const_like(b); }    \
  inline UOp operator op(Const a, UOp b) { return b.const_like(a) op b; }
TGC_MIXED(+) TGC_MIXED(*) TGC_MIXED(/) TGC_MIXED(%) TGC_MIXED(&) TGC_MIXED(|) TGC_MIXED(^) TGC_MIXED(<<) TGC_MIXED(>>)
#undef TGC_MIXED
inline UOp operator-(UOp a, Const b) { return a + a.const_like(py_neg(b)); }
inline UOp operator-(Const a, UOp b) { return b.const_like(a) + -b; }

// The function that UOp::simplify() calls. The rules are in a higher layer, passes/symbolic, which installs the
// function when the program starts.
using Simplifier = UOp (*)(UOp);

// Makes `simplifier` the function that UOp::simplify() calls for nodes that are not constants. Returns true, so that
// the call can initialize a static variable.
bool install_simplifier(Simplifier simplifier);

// Returns true for a CUSTOM(index, number) that adds `number` to the element at `index`, an INDEX. tinygrad writes such
// an atomic operation as source code (nn/__init__.py:_embedding_bwd_kernel of 0.13 and 0.14).
inline bool is_atomic_add(UOp u) {
  if (!u.is(Op::CUSTOM) || !(u.dtype() == dtypes::void_) || u.num_src() != 2 || !u.arg().is_str()) return false;
  if (!u.src(0).is(Op::INDEX)) return false;
  const std::string_view code = u.arg().text();
  return code == "__atomic_fetch_add({0}, {1}, __ATOMIC_RELAXED);" ||
         code == "__hip_atomic_fetch_add({0}, {1}, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);";
}

}  // namespace tgc

template <>
struct std::hash<tgc::UOp> {
  size_t operator()(tgc::UOp u) const noexcept { return u ? u.node()->hash : 0; }
};
