#include "lib/fuzz/mutant.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace tgc {
namespace {

constexpr size_t kMutantNodes = 4000;  // no subgraph is inserted into a graph of so many nodes

// Returns one of the args that are likely to expose bugs; `i` is taken modulo their number.
Arg edge_arg(Graph& g, size_t i) {
  static const Const kNumbers[] = {
      int64_t(0), int64_t(1), int64_t(-1), int64_t(2), int64_t(3), int64_t(7), int64_t(16), int64_t(31), int64_t(32),
      int64_t(33), int64_t(63), int64_t(64), int64_t(127), int64_t(128), int64_t(255), int64_t(256), int64_t(32767),
      int64_t(65535), int64_t(65536), int64_t(2147483647), int64_t(2147483648), int64_t(-2147483648),
      int64_t(4294967295), int64_t(4294967296), int64_t(1) << 40, int64_t(1) << 62, int64_t(-2), int64_t(-7),
      std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min(), 0.0, -0.0, 0.5, 1.0, -1.5, 1e30, 1e300,
      -1e300, 5e-324, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
      -std::numeric_limits<double>::infinity(), true, false, Const(Int(int64_t(1) << 62) * Int(4)),
      Const(Int(int64_t(1) << 62) * Int(int64_t(1) << 62) * Int(-9))};
  constexpr size_t kPlain = std::size(kNumbers);
  i %= kPlain + 14;
  if (i < kPlain) return kNumbers[i];
  switch (i - kPlain) {
    case 0: return g.invalid().arg();
    case 1: return {};
    case 2: return g.str("a b;c");
    case 3: return g.str("");
    case 4: return g.tuple({});
    case 5: return g.tuple({Arg(0)});
    case 6: return g.tuple({Arg(-1), Arg(1)});
    case 7: return g.tuple({Arg(1), Arg(AxisType::REDUCE)});
    case 8: return g.tuple({Arg(0), Arg(AxisType::GLOBAL)});
    case 9: return Arg(Op::ADD);
    case 10: return Arg(AxisType::LOCAL);
    case 11: return Arg(dtypes::float32);
    case 12: return g.tuple({g.tuple({Arg(0), Arg(int64_t(1) << 62)}), g.tuple({})});
    default: return g.tuple({Arg(Op::MAX), g.tuple({Arg(0)})});
  }
}

DType choose_dtype(size_t i) {
  static constexpr int kCounts[] = {1, 1, 1, 2, 3, 4, 8, 16, 128};
  static constexpr int64_t kSizes[] = {-1, 0, 1, 4, 1000, int64_t(1) << 31, int64_t(1) << 62};
  DType scalar = dtypes::of(Scalar(i % kNumScalars));
  i /= kNumScalars;
  int count = scalar == dtypes::void_ ? 1 : kCounts[i % std::size(kCounts)];
  DType out = count > 1 ? scalar.vec(count) : scalar;
  i /= std::size(kCounts);
  if (i % 3 != 2) return out;
  i /= 3;
  return out.ptr(kSizes[i % std::size(kSizes)], AddrSpace(i / std::size(kSizes) % 3));
}

// Returns `d` with the scalar type `s`. An image becomes a scalar.
DType with_scalar(DType d, Scalar s) {
  DType value = dtypes::of(s);
  if (d.is_image()) return value;
  if (d.count() > 1 && s != Scalar::Void) value = value.vec(d.count());
  return d.is_ptr() ? value.ptr(d.size(), d.addrspace()) : value;
}

// Returns an op of the group that contains `op`; if there is none, any op. `i` is taken modulo their number.
Op similar_op(Op op, size_t i) {
  for (OpSet set : {ops::Unary, ops::Binary, ops::Ternary, ops::Movement, ops::Defines, OpSet{Op::CAST, Op::BITCAST},
                    OpSet{Op::LOAD, Op::INDEX, Op::STORE, Op::AFTER}, OpSet{Op::RANGE, Op::SPECIAL, Op::DEFINE_VAR},
                    OpSet{Op::VECTORIZE, Op::CAT, Op::PTRCAT, Op::GROUP, Op::SINK},
                    OpSet{Op::UNROLL, Op::CONTRACT, Op::GEP}, OpSet{Op::REDUCE, Op::END, Op::BUFFERIZE, Op::WMMA}}) {
    if (!set.contains(op)) continue;
    size_t n = i % size_t(set.size());
    Op found = op;
    set.for_each([&](Op o) {
      if (n-- == 0) found = o;
    });
    return found;
  }
  return Op(i % kNumOps);
}

class NodeMutator {
 public:
  NodeMutator(std::vector<UOp> nodes, bool is_list, const SubgraphDonor& donor)
      : graph_(nodes.back().graph()), nodes_(std::move(nodes)), is_list_(is_list), donor_(donor) {}

  void apply_step(const MutationStep& step) {
    step_ = step;
    node_index_ = step.node_position % nodes_.size();
    if (is_list_ && step.kind % kNumMutations >= kNumMutations - 3) return mutate_list();
    UOp u = nodes_[node_index_], now = mutated_node(u);
    if (!(now == u)) replace_node(now);
  }

  std::vector<UOp> take_nodes() && { return std::move(nodes_); }

 private:
  UOp second_node() const { return nodes_[step_.other_position % nodes_.size()]; }
  // Returns the i-th node, modulo their number, whose op is in `ops`; the empty UOp if there are none.
  UOp pick_node(OpSet ops, size_t i) const {
    std::vector<UOp> found;
    for (UOp u : nodes_)
      if (u.in(ops)) found.push_back(u);
    return found.empty() ? UOp() : found[i % found.size()];
  }
  std::vector<UOp> sources(UOp u) const { return {u.src().begin(), u.src().end()}; }
  UOp with_source(UOp u, UOp source) const {
    if (!u.num_src() || !source) return u;
    std::vector<UOp> src = sources(u);
    src[step_.slot_index % src.size()] = source;
    return u.with_src(src);
  }
  UOp source_of(UOp u) const { return u.num_src() ? u.src(step_.slot_index % u.num_src()) : u; }

  UOp mutated_node(UOp u) {
    std::vector<UOp> src = sources(u);
    size_t slot = src.empty() ? 0 : step_.slot_index % src.size();
    switch (step_.kind % kNumMutations) {
      case 0: return u.replace({.op = Op(step_.value_choice % kNumOps)});
      case 1: return u.replace({.op = similar_op(u.op(), step_.value_choice)});
      case 2: return u.with_dtype(choose_dtype(step_.value_choice));
      case 3: return u.with_dtype(with_scalar(u.dtype(), Scalar(step_.value_choice % kNumScalars)));
      case 4: return u.with_arg(edge_arg(graph_, step_.value_choice));
      case 5: return u.with_arg(second_node().arg());
      case 6:
        if (u.arg().is_tuple() && !u.arg().items().empty()) {
          std::vector<Arg> items(u.arg().items().begin(), u.arg().items().end());
          items[step_.slot_index % items.size()] = edge_arg(graph_, step_.value_choice);
          return u.with_arg(graph_.tuple(items));
        }
        return u;
      case 7:
        if (src.size() > 1) std::swap(src[slot], src[step_.other_position % src.size()]);
        return u.with_src(src);
      case 8:
        if (!src.empty()) src.erase(src.begin() + int64_t(slot));
        return u.with_src(src);
      case 9: return src.insert(src.begin() + int64_t(slot), second_node()), u.with_src(src);
      case 10: return with_source(u, second_node());
      case 11:
        if (src.empty()) return u;
        return with_source(u, graph_.node(Op::CONST, src[slot].dtype(), {}, edge_arg(graph_, step_.value_choice)));
      case 12: return with_source(u, graph_.node(Op::CONST, source_of(u).dtype(), {}, graph_.invalid().arg()));
      case 13:  // add a second range with the same axis
        if (UOp r = pick_node({Op::RANGE, Op::SPECIAL}, step_.other_position); r && r.num_src())
          return with_source(u, graph_.node(r.op(), r.dtype(), size_const(r.src(0).dtype()), r.arg()));
        return u;
      case 14:
        if (UOp r = pick_node({Op::RANGE, Op::SPECIAL}, step_.other_position); r && r.num_src())
          return node_index_ = position_of(r), r.with_src(std::vector<UOp>{size_const(r.src(0).dtype())});
        return u;
      case 15:
        if (UOp part = nodes_.size() < kMutantNodes ? donated_subgraph() : UOp()) return with_source(u, part);
        return u;
      case 16: return source_of(u);
      case 17: return graph_.node(Op(step_.value_choice % kNumOps), u.dtype(), u, second_node().arg());
      case 18: return u.rtag(edge_arg(graph_, step_.value_choice));
      case 19:
        if (u.dtype().is_ptr() && !u.dtype().is_image())
          return u.with_dtype(u.dtype().base().ptr(edge_size(), u.dtype().addrspace()));
        return with_source(u, second_node());
      case 20: return with_source(u, u);  // a new node with the old one as a source
      case 21: return u.replace({.op = second_node().op(), .dtype = second_node().dtype()});
      case 22: return src.assign(1 + step_.value_choice % 40, second_node()), u.with_src(src);
      default: return with_source(u, source_of(second_node()));
    }
  }

  int64_t edge_size() {
    static constexpr int64_t kSizes[] = {0, 1, -1, 3, 1 << 20, int64_t(1) << 31, int64_t(1) << 40, int64_t(1) << 61,
                                         std::numeric_limits<int64_t>::max()};
    return kSizes[step_.value_choice % std::size(kSizes)];
  }
  UOp size_const(DType dtype) { return graph_.node(Op::CONST, dtype, {}, edge_arg(graph_, step_.value_choice)); }
  size_t position_of(UOp u) const { return size_t(std::find(nodes_.begin(), nodes_.end(), u) - nodes_.begin()); }

  UOp donated_subgraph() const {
    UOp root = donor_ ? donor_(graph_, step_.other_position) : UOp();
    if (!root) return root;
    std::vector<UOp> below = toposort(root);
    return below[step_.value_choice % below.size()];
  }

  void replace_node(UOp now) {
    UOpMap<UOp> is(graph_);
    for (size_t i = 0; i < nodes_.size(); i++) {
      UOp u = nodes_[i];
      if (i == node_index_) {
        is[u] = now;
        continue;
      }
      std::vector<UOp> src = sources(u);
      for (UOp& s : src)
        if (const UOp* known = is.find(s)) s = *known;
      UOp rebuilt = u.with_src(src);
      is[u] = rebuilt;
    }
    std::vector<UOp> before = std::move(nodes_);
    if (is_list_) {
      for (UOp u : before) nodes_.push_back(is[u]);
    } else {
      nodes_ = toposort(is[before.back()]);
    }
  }

  void mutate_list() {
    size_t to = step_.other_position % nodes_.size();
    switch (step_.kind % kNumMutations) {
      case kNumMutations - 3:
        if (nodes_.size() > 1) nodes_.erase(nodes_.begin() + int64_t(node_index_));
        return;
      case kNumMutations - 2: return std::swap(nodes_[node_index_], nodes_[to]);
      default: nodes_.insert(nodes_.begin() + int64_t(to), UOp(nodes_[node_index_]));
    }
  }

  Graph& graph_;
  std::vector<UOp> nodes_;
  bool is_list_;
  const SubgraphDonor& donor_;
  MutationStep step_;
  size_t node_index_ = 0;
};

}  // namespace

std::vector<MutationStep> steps_of_bytes(std::span<const uint8_t> bytes) {
  std::vector<MutationStep> out(bytes.size() / kMutationStepBytes);
  if (!out.empty()) std::memcpy(out.data(), bytes.data(), out.size() * kMutationStepBytes);
  return out;
}

Result<std::vector<UOp>> mutate_nodes(std::vector<UOp> nodes, bool is_list, std::span<const MutationStep> steps,
                                      const SubgraphDonor& donor) {
  if (nodes.empty()) return nodes;
  return catch_failures([&] {
    NodeMutator mutator(std::move(nodes), is_list, donor);
    for (const MutationStep& step : steps) mutator.apply_step(step);
    return std::move(mutator).take_nodes();
  });
}

}  // namespace tgc
