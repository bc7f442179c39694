#include "lib/fuzz/generator.h"

#include <cstdlib>
#include <limits>
#include <map>
#include <optional>

#include "lib/uop/facts.h"

namespace tgc {
namespace {

using pat::PatNode;

constexpr OpSet kMade =
    ops::Elementwise | OpSet{Op::CONST, Op::VCONST, Op::RANGE, Op::DEFINE_VAR, Op::INDEX, Op::REDUCE};
constexpr Scalar kScalars[] = {Scalar::Float32, Scalar::Float32, Scalar::Int32,    Scalar::Index,   Scalar::Index,
                               Scalar::Bool,    Scalar::Float16, Scalar::BFloat16, Scalar::Float64, Scalar::Int64,
                               Scalar::UInt32,  Scalar::UInt8,   Scalar::Int8,     Scalar::Int16,   Scalar::UInt64,
                               Scalar::UInt16,  Scalar::FP8E4M3, Scalar::FP8E5M2};
constexpr int64_t kLoops[] = {1, 2, 3, 4, 7, 8, 16, 17, 32};
constexpr int64_t kNumbers[] = {0, 1, 2, 3, 4, 5, 7, 8, 16, 17, 31, 32, 100, 127, 128, -1, -2, -3, -8};
// near the limits of dtypes and of float precision, and near numbers in the guards of rules
constexpr int64_t kEdges[] = {255,
                              300,
                              65537,
                              (int64_t(1) << 24) + 1,
                              std::numeric_limits<int32_t>::max(),
                              (int64_t(1) << 53) + 1,
                              int64_t(1) << 54};
constexpr double kFloats[] = {0.0, 1.0, -1.0, 0.5, 2.0, 3.0, -0.25};
constexpr int64_t kScales[] = {2, 3, 4, 6, 8, 12}, kMaxes[] = {8, 16, 33};
constexpr int64_t kMaxElements = 4096;

class PatternKernelMaker {
 public:
  PatternKernelMaker(Graph& graph, RandomSource& chance) : graph_(graph), random_(chance) {}

  UOp make_kernel(const Rule& rule) {
    while (loops_.size() < 2) loops_.push_back(range(AxisType::LOOP));
    auto dtype = choose_dtype(rule.left, std::nullopt);
    UOp value = dtype ? make_match(rule.left, *dtype) : UOp();
    return value ? make_store_kernel(value) : UOp();
  }

 private:
  UOp range(AxisType type) { return graph_.range(random_.random_item(kLoops), next_axis_++, type); }
  DType random_dtype() { return dtypes::of(random_.random_item(kScalars)); }
  UOp random_number(DType d) {
    if (dtypes::is_float(d)) return graph_.constant(d, random_.random_item(kFloats));
    if (dtypes::is_bool(d)) return graph_.constant(d, random_.one_in(2));
    int64_t v = random_.random_item(kNumbers);
    // sometimes a number of kEdges, or the previous one plus 1
    if (random_.one_in(10))
      v = last_edge_number_ =
          last_edge_number_ && random_.one_in(2) ? last_edge_number_ + 1 : random_.random_item(kEdges);
    return graph_.constant(d, dtypes::is_unsigned(d) ? std::abs(v) : v);
  }

  // Returns a dtype that the pattern allows: `wanted` or, if that is not set, any. Returns nullopt if none was found.
  std::optional<DType> choose_dtype(const PatNode* p, std::optional<DType> wanted) {
    if (!p->dtypes.empty()) {
      if (wanted) return p->dtypes.contains(*wanted) ? wanted : std::nullopt;
      for (int tries = 0; tries < 64; tries++)
        if (DType d = random_dtype(); p->dtypes.contains(d)) return d;
      return std::nullopt;
    }
    if (auto own = required_dtype(p)) return !wanted || *wanted == *own ? own : std::nullopt;
    return wanted ? wanted : random_dtype();
  }

  // Returns a dtype to which the pattern restricts the node, or nullopt.
  std::optional<DType> required_dtype(const PatNode* p) {
    if (p->capture >= 0 && captured_nodes_.contains(p->capture)) return captured_nodes_[p->capture].dtype();
    if (!p->dtypes.empty()) return choose_dtype(p, std::nullopt);
    if (p->ops.empty()) return std::nullopt;
    if (ops::Comparison.contains_all(p->ops)) return dtypes::bool_;
    if (p->ops == OpSet(Op::RANGE)) return dtypes::index;
    if (p->has_arg && p->arg.is_const() && p->arg.to_const().is_invalid()) return dtypes::index;
    if (!(ops::ALU - ops::Comparison).contains_all(p->ops)) return std::nullopt;
    bool is_where = p->ops == OpSet(Op::WHERE);
    for (size_t i = is_where ? 1 : 0; i < p->children.size(); i++)
      if (auto own = required_dtype(p->children[i])) return own;
    return std::nullopt;
  }

  UOp make_match(const PatNode* p, DType d) {
    if (p->capture >= 0)
      if (auto it = captured_nodes_.find(p->capture); it != captured_nodes_.end())
        return it->second.dtype() == d ? it->second : UOp();
    UOp out = p->has_alternatives ? make_alternative(p, d) : make_node(p, d);
    if (out && p->capture >= 0) captured_nodes_[p->capture] = out;
    return out;
  }

  UOp make_alternative(const PatNode* p, DType d) {
    const PatNode* chosen = p->children[random_.random_below(p->children.size())];
    auto dtype = choose_dtype(chosen, d);
    return dtype ? make_match(chosen, *dtype) : UOp();
  }

  UOp make_node(const PatNode* p, DType d) {
    if (p->ops.empty()) return random_leaf(d);
    std::vector<Op> can;
    p->ops.for_each([&](Op op) {
      if (kMade.contains(op)) can.push_back(op);
    });
    if (can.empty()) return {};
    Op op = random_.random_item(can);
    if (op == Op::VCONST) op = Op::CONST;
    if (op == Op::CONST) return make_constant(p, d);
    if (op == Op::RANGE) return random_.random_item(loops_);
    if (op == Op::DEFINE_VAR) return new_variable(d);
    if (op == Op::REDUCE) return make_reduction(p, d);
    if (op == Op::INDEX) return make_index(p, d);
    return make_elementwise_node(op, p, d);
  }

  UOp make_constant(const PatNode* p, DType d) {
    if (!p->has_arg) return random_number(d);
    if (!p->arg.is_const()) return {};
    Const v = p->arg.to_const();
    return v.is_invalid() ? graph_.invalid() : graph_.constant(d, v);
  }

  UOp make_elementwise_node(Op op, const PatNode* p, DType d) {
    const auto& children = p->children;
    bool are_alike = p->sources == PatNode::Sources::Each;  // the first child pattern applies to all sources
    size_t n = ops::Unary.contains(op) || op == Op::CAST || op == Op::BITCAST ? 1 : ops::Ternary.contains(op) ? 3 : 2;
    bool is_comparison = ops::Comparison.contains(op);
    if (is_comparison && !dtypes::is_bool(d)) return {};
    if (children.size() > n) return {};
    std::optional<DType> operand = d;
    if (is_comparison || n == 1) {
      for (const PatNode* child : children)
        if (auto own = required_dtype(child); own && (is_comparison || op == Op::CAST || op == Op::BITCAST))
          operand = own;
      if (operand == d && (is_comparison || op == Op::CAST || op == Op::BITCAST)) operand = random_dtype();
    }
    if (op == Op::BITCAST && operand->itemsize() != d.itemsize()) return {};
    std::vector<UOp> src;
    for (size_t i = 0; i < n; i++) {
      std::optional<DType> of = op == Op::WHERE && i == 0 ? dtypes::bool_ : *operand;
      const PatNode* child = i < children.size() ? children[i] : are_alike ? children[0] : nullptr;
      if (child) of = choose_dtype(child, of);
      UOp s = !of ? UOp() : child ? make_match(child, *of) : random_leaf(*of);
      if (!s) return {};
      src.push_back(s);
    }
    if (p->permute && n == 2 && random_.one_in(2)) std::swap(src[0], src[1]);
    return graph_.node(op, d, src);
  }

  UOp make_reduction(const PatNode* p, DType d) {
    if (p->children.empty()) return {};
    UOp r = range(AxisType::REDUCE);
    loops_.push_back(r);
    for (const PatNode* child : p->children.subspan(1))  // bind captures of loops first: the value may use them
      if (child->capture >= 0) captured_nodes_.try_emplace(child->capture, r);
    auto of = choose_dtype(p->children[0], d);
    UOp value = of ? make_match(p->children[0], *of) : UOp();
    std::erase(loops_, r);
    if (!value) return {};
    return value.reduce(std::vector<UOp>{r}, p->has_arg && p->arg.kind() == Arg::Kind::Op ? p->arg.op() : Op::ADD);
  }

  UOp make_index(const PatNode* p, DType d) {
    UOp at = p->children.size() > 1 ? make_match(p->children[1], dtypes::index) : index_expression();
    return at ? buffer_element(at, d) : UOp();
  }

  UOp new_variable(DType d = dtypes::index) {
    std::string name = "n" + std::to_string(num_variables_++);
    return dtypes::is_bool(d) ? graph_.variable(name, false, true, d)
                              : graph_.variable(name, int64_t(1), random_.random_item(kMaxes), d);
  }

  UOp index_expression() {
    UOp a = random_.random_item(loops_), b = random_.random_item(loops_);
    switch (random_.random_below(8)) {
      case 0: return a * Const(random_.random_item(kScales)) + b;
      case 1: return a + graph_.constant(dtypes::index, random_.random_item(kNumbers));
      case 2: return a / graph_.constant(dtypes::index, int64_t(1 + random_.random_below(8)));
      case 3: return a % graph_.constant(dtypes::index, int64_t(1 + random_.random_below(8)));
      case 4: return random_.one_in(4) ? new_variable() : a;
      case 5: return a * Const(random_.random_item(kScales)) + b * Const(random_.random_item(kScales));
      default: return a;
    }
  }

  UOp random_leaf(DType d) {
    if (random_.one_in(12)) return random_number(d);
    if (d.is(Scalar::Index)) return index_expression();
    if (dtypes::is_bool(d) && random_.one_in(2)) {
      UOp r = random_.random_item(loops_);
      return r.lt(r.const_like(int64_t(1 + random_.random_below(8))));
    }
    if (random_.one_in(10)) return index_expression().cast(d);
    UOp at;
    for (UOp r : loops_)
      if (!random_.one_in(4)) at = at ? at * Const(r.vmax().as_int().small_value() + 1) + r : r;
    return buffer_element(at ? at : loops_[0], d);
  }

  // Returns an element of a new buffer (an INDEX), with a gate if the index may be negative; the empty UOp if that is
  // not possible.
  UOp buffer_element(UOp at, DType d) {
    UOp place = at.get_idx();
    Const low = place.vmin(), high = place.vmax();
    if (!low.is_integral() || !high.is_integral() || high.as_int() >= Int(kMaxElements)) return {};
    if (high.as_int() < Int(0) || (!(place == at) && low.as_int() < Int(0))) return {};
    if (low.as_int() < Int(0)) at = place.lt(place.const_like(0)).logical_not().where(place, graph_.invalid());
    if (d.is(Scalar::Index)) return {};
    UOp buffer = graph_.node(Op::DEFINE_GLOBAL, d.ptr(high.as_int().small_value() + 1), {}, Arg(next_buffer_++));
    return buffer.index(at);
  }

  static bool has_small_bounds(UOp u) {
    const Int most(int64_t(1) << 62);
    Const low = u.vmin(), high = u.vmax();
    return low.is_integral() && high.is_integral() && -most < low.as_int() && high.as_int() < most;
  }

  UOp make_store_kernel(UOp value) {
    for (UOp u : toposort(value))
      if (u.is_invalid() && value.dtype().is(Scalar::Index)) {
        UOp r = random_.random_item(loops_);
        value = buffer_element(r.lt(r.const_like(1)).where(r, value), dtypes::float32);
        break;
      }
    if (!value) return {};
    if (value.dtype().is(Scalar::Index)) {
      if (random_.one_in(3))
        if (UOp read = buffer_element(value % value.const_like(17) + value.const_like(16), dtypes::float32))
          value = read;
      if (value.dtype().is(Scalar::Index)) value = value.cast(random_.one_in(2) ? dtypes::int32 : dtypes::int64);
    } else if (dtypes::is_bool(value.dtype()) && random_.one_in(2)) {
      value = value.where(graph_.constant(dtypes::float32, 1.0), graph_.constant(dtypes::float32, 0.0));
    }
    if (random_.one_in(5) && !dtypes::is_bool(value.dtype())) value = value + random_leaf(value.dtype());
    if (!value || !value.dtype().is_value()) return {};
    for (UOp u : toposort(value))  // an index that overflows has no meaning
      if (u.dtype().is(Scalar::Index) && !u.is_invalid() && !has_small_bounds(u)) return {};
    auto [at, size] = make_row_major_index(loops_);
    UOp out = graph_.node(Op::DEFINE_GLOBAL, value.dtype().ptr(size), {}, Arg(int64_t(0)));
    return graph_.sink(out.index_ptr(at).store(value).end(loops_));
  }

  Graph& graph_;
  RandomSource& random_;
  std::vector<UOp> loops_;
  std::map<int, UOp> captured_nodes_;  // by capture: the node that it matches
  int64_t next_axis_ = 0, next_buffer_ = 1, last_edge_number_ = 0;
  int num_variables_ = 0;
};

}  // namespace

UOp random_pattern_kernel(Graph& graph, RandomSource& chance, const Rule& rule) {
  if (!rule.left) return {};
  return PatternKernelMaker(graph, chance).make_kernel(rule);
}

}  // namespace tgc
