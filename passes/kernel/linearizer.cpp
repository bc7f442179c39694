#include "passes/kernel/stages.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "lib/spec/spec.h"
#include "lib/support/deadline.h"
#include "lib/support/pysort.h"
#include "lib/uop/facts.h"
#include "lib/uop/graph.h"
#include "lib/uop/render.h"
#include "passes/pipeline.h"

namespace tgc {
namespace {

// Returns the priority of an op: of nodes that run equally often, those of lower priority come earlier if possible.
int priority_of(Op op) {
  switch (op) {
    case Op::DEFINE_GLOBAL: return -20;  // parameters come first, in the order of their numbers
    case Op::DEFINE_VAR: return -19;
    case Op::DEFINE_LOCAL: return -18;
    case Op::DEFINE_REG: return -17;
    case Op::CONST: return -10;
    case Op::END: return -5;   // close loops early, so that fewer nodes are inside
    case Op::LOAD: return -1;  // load early, which hides the latency
    case Op::STORE: return 1;
    case Op::RANGE: return 5;  // open loops late, so that fewer nodes are inside
    default: return 0;
  }
}

constexpr uint32_t kNone = ~0u;

// The nodes under a sink in a toposort. Sources are stored as positions in the toposort.
struct NodeList {
  std::span<const UOp> nodes;
  std::vector<uint32_t> src;        // the sources of node i are src[first_src[i]] to src[first_src[i + 1] - 1]
  std::vector<uint32_t> first_src;

  explicit NodeList(UOp sink) : nodes(cached_toposort(sink)) {
    auto position = std::make_unique_for_overwrite<uint32_t[]>(sink.id() + 1);
    first_src.reserve(nodes.size() + 1);
    src.reserve(nodes.size() * 2);
    for (uint32_t i = 0; i < nodes.size(); i++) {
      position[nodes[i].id()] = i;
      first_src.push_back(uint32_t(src.size()));
      for (UOp s : nodes[i].src()) src.push_back(position[s.id()]);
    }
    first_src.push_back(uint32_t(src.size()));
  }

  size_t size() const { return nodes.size(); }
  std::span<const uint32_t> sources(uint32_t i) const {
    return {src.data() + first_src[i], src.data() + first_src[i + 1]};
  }
};

// Groups the nodes of a list by kind. Two nodes are of one kind if they have the same op, arg and dtype.
class NodeKinds {
 public:
  std::vector<uint32_t> kind_numbers;

  explicit NodeKinds(const NodeList& list) {
    std::vector<uint32_t> table(std::bit_ceil(2 * list.size()), kNone);
    kind_numbers.reserve(list.size());
    for (UOp u : list.nodes) {
      size_t slot =
          (u.arg().hash() + size_t(u.op()) * 0x9E3779B1u + std::hash<DType>()(u.dtype())) & (table.size() - 1);
      while (table[slot] != kNone && !is_same_kind(first_node_of_kind_[table[slot]], u))
        slot = (slot + 1) & (table.size() - 1);
      if (table[slot] == kNone) {
        table[slot] = uint32_t(first_node_of_kind_.size());
        first_node_of_kind_.push_back(u);
        has_nan_ |= is_nan(u);
      }
      kind_numbers.push_back(table[slot]);
    }
    rank_of_kind_.resize(size());
    set_ranks();
  }

  size_t size() const { return first_node_of_kind_.size(); }

  Order compare(uint32_t a, uint32_t b) const {
    UOp x = first_node_of_kind_[a], y = first_node_of_kind_[b];
    if (!has_ranks_ || (has_nan_ && (is_nan(x) || is_nan(y)))) [[unlikely]] return compare_without_sources(x, y);
    return rank_of_kind_[a] < rank_of_kind_[b]   ? Order::Less
           : rank_of_kind_[a] > rank_of_kind_[b] ? Order::Greater
                                                 : Order::Unordered;
  }

  // Returns a number that orders the kinds of nodes of one priority like compare() does. Kinds with equal numbers must
  // be compared with compare().
  uint32_t coarse_rank(uint32_t kind) const {
    return has_nan_ && first_node_of_kind_[kind].is_const() ? 0 : rank_of_kind_[kind];
  }

 private:
  static bool is_same_kind(UOp a, UOp b) { return a.op() == b.op() && a.dtype() == b.dtype() && a.arg() == b.arg(); }
  static bool is_nan(UOp u) { return u.arg().is_float() && std::isnan(u.arg().to_const().as_float()); }

  void set_ranks() {
    std::vector<uint32_t> order(size());
    std::iota(order.begin(), order.end(), 0);
    auto less = [&](uint32_t a, uint32_t b) {
      UOp x = first_node_of_kind_[a], y = first_node_of_kind_[b];
      // less() may order a NaN anywhere, because compare() does not use the rank of a NaN
      if (has_nan_ && x.op() == y.op() && is_nan(x) != is_nan(y)) return is_nan(y);
      return compare_without_sources(x, y) == Order::Less;
    };
    try {
      // use stable_sort, because dtypes are not totally ordered: `less` may be inconsistent, and std::sort could then
      // read out of bounds
      std::stable_sort(order.begin(), order.end(), less);
    } catch (const Failure&) {  // some args have no order in Python; later, compare() throws if it compares them
      has_ranks_ = false;
      return;
    }
    for (size_t i = 1; i < order.size(); i++)
      rank_of_kind_[order[i]] = rank_of_kind_[order[i - 1]] + less(order[i - 1], order[i]);
  }

  std::vector<UOp> first_node_of_kind_;   // a representative node of each kind
  std::vector<uint32_t> rank_of_kind_;  // for each kind, its sort position; different kinds of equal rank are unordered
  bool has_ranks_ = true;          // false if no ranks could be computed: all ranks are 0, and compare() compares nodes
  bool has_nan_ = false;
};

// Compares nodes of a list by tinygrad's sort key tuplize, like compare_tuplize(). A direct-mapped cache stores recent
// results, because sorting compares the same pairs of sources repeatedly.
class TuplizeOrder {
 public:
  TuplizeOrder(const NodeList& list, const NodeKinds& kinds)
      : list_(list),
        kinds_(kinds),
        cache_entries_(std::bit_ceil(2 * list.size())),
        cache_shift_(64 - std::countr_zero(cache_entries_.size())) {
    tuple_heads_.reserve(list.size());
    for (uint32_t i = 0; i < list.size(); i++) {
      auto src = list.sources(i);
      tuple_heads_.push_back({kinds.kind_numbers[i], uint32_t(src.size()), src.size() > 0 ? src[0] : kNone,
                              src.size() > 1 ? src[1] : kNone});
    }
  }

  static constexpr uint32_t kStepsPerCheck = 1 << 14;  // steps between two checks of the deadline

  Order compare(uint32_t a, uint32_t b) {
    const TupleHead* const heads = tuple_heads_.data();
    uint32_t x = a, y = b;
    uint64_t* path[kMaxPathLength];
    size_t length = 0;
    Order order;
    for (;;) {
      if (++num_steps_ % kStepsPerCheck == 0) throw_if_late();
      if (heads[x].kind != heads[y].kind) {
        order = kinds_.compare(heads[x].kind, heads[y].kind);
        break;
      }
      uint64_t pair = cache_key_of(x, y);
      uint64_t& memo = cache_entry_of(pair);
      if ((memo & ~kOrderMask) == pair) {
        order = Order(int(memo & kOrderMask) - 1);
        break;
      }
      if (length < kMaxPathLength) {
        memo = pair;
        path[length++] = &memo;
      }
      if (!descend_to_difference(x, y)) {
        if (heads[x].num_src == heads[y].num_src) {  // only tags differ, so compare in full and clear the cache entries
          for (size_t i = 0; i < length; i++) *path[i] = 0;
          return compare_tuplize(list_.nodes[a], list_.nodes[b]);
        }
        order = heads[x].num_src < heads[y].num_src ? Order::Less : Order::Greater;
        break;
      }
    }
    for (size_t i = 0; i < length; i++) *path[i] |= uint64_t(int(order) + 1);
    return order;
  }

 private:
  static constexpr size_t kMaxPathLength = 16;
  uint32_t num_steps_ = 0;
  struct TupleHead {
    uint32_t kind, num_src, src0, src1;  // src0, src1: the first two sources, or kNone
  };

  // A cache entry is a pair of positions, with the comparison result in its low two bits. 0 is an empty entry, because
  // no node is compared with itself.
  static constexpr uint64_t kOrderMask = 3;
  static uint64_t cache_key_of(uint32_t x, uint32_t y) { return uint64_t(x) << 33 | uint64_t(y) << 2; }
  uint64_t& cache_entry_of(uint64_t pair) { return cache_entries_[pair * 0x9E3779B97F4A7C15u >> cache_shift_]; }

  // Replaces `a` and `b` by their first sources that differ. Returns false if one list of sources is a prefix of the
  // other.
  bool descend_to_difference(uint32_t& a, uint32_t& b) const {
    const TupleHead &x = tuple_heads_[a], &y = tuple_heads_[b];
    if (x.src0 != y.src0 && x.src0 != kNone && y.src0 != kNone) return a = x.src0, b = y.src0, true;
    if (x.src1 != y.src1 && x.src1 != kNone && y.src1 != kNone) return a = x.src1, b = y.src1, true;
    size_t common = std::min(x.num_src, y.num_src);
    if (common <= 2) return false;
    auto s = list_.sources(a), t = list_.sources(b);
    for (size_t i = 2; i < common; i++)
      if (s[i] != t[i]) return a = s[i], b = t[i], true;
    return false;
  }

  const NodeList& list_;
  const NodeKinds& kinds_;
  std::vector<TupleHead> tuple_heads_;
  std::vector<uint64_t> cache_entries_;
  int cache_shift_;
};

// Returns how often a node runs at most: the product of the maximum sizes of its ranges.
Int run_count_of(UOp u) {
  Int count = 1;
  for (UOp r : ranges_of(u)) count *= r.vmax().to_int() + Int(1);
  return count;
}

// A sort key. `packed_key` packs the node's run count (32 bits), its priority (8 bits) and the coarse rank of its kind
// (24 bits). The kind is compared before the sources, because tuplize begins with op, arg and dtype. (tinygrad compares
// the arg of a parameter before its op; the order is the same, because parameters of one priority have the same op.)
struct SortKey {
  uint64_t packed_key;
  uint32_t node;
};
// The run count in a key if the actual run count is negative or at least this number. If a list has such a key, its
// keys are compared in full.
constexpr uint64_t kManyRuns = (uint64_t(1) << 32) - 1;
constexpr uint32_t kManyKinds = 1 << 24;                 // if a list has this many kinds or more, keys contain no rank

class SortKeyOrder {
 public:
  SortKeyOrder(const NodeList& list, bool by_tuplize)
      : list_(list), kinds_(list), tuplize_(list, kinds_), compares_tuplize_(by_tuplize) {}

  std::vector<SortKey> keys() {
    std::vector<SortKey> keys;
    keys.reserve(list_.size());
    std::span<const UOp> last_ranges;
    uint64_t runs = 1;
    bool with_rank = compares_tuplize_ && kinds_.size() < kManyKinds;
    for (uint32_t i = 0; i < list_.size(); i++) {
      UOp u = list_.nodes[i];
      auto ranges = ranges_of(u);
      // reuse the run count of the previous node, because consecutive nodes mostly have the same ranges
      if (ranges.data() != last_ranges.data() || ranges.size() != last_ranges.size()) {
        last_ranges = ranges;
        Int count = run_count_of(u);
        runs = count.sign() >= 0 && count < Int(int64_t(kManyRuns)) ? uint64_t(count.small_value()) : kManyRuns;
        has_many_runs_ |= runs == kManyRuns;
      }
      uint64_t rank = with_rank ? kinds_.coarse_rank(kinds_.kind_numbers[i]) : 0;
      keys.push_back({runs << 32 | uint64_t(priority_of(u.op()) + 128) << 24 | rank, i});
    }
    return keys;
  }

  // Compares like Python's < of (run_count, priority, extra), where extra is the arg of a parameter, + tuplize if used.
  bool is_less(const SortKey& a, const SortKey& b) {
    if (has_many_runs_ || !compares_tuplize_) [[unlikely]] return is_less_in_full(a, b);
    return a.packed_key != b.packed_key ? a.packed_key < b.packed_key : tuplize_.compare(a.node, b.node) == Order::Less;
  }

 private:
  [[gnu::noinline]] bool is_less_in_full(const SortKey& a, const SortKey& b) {
    if (has_many_runs_) {
      Int x = run_count_of(list_.nodes[a.node]), y = run_count_of(list_.nodes[b.node]);
      if (x != y) return x < y;
    }
    if (a.packed_key != b.packed_key) return a.packed_key < b.packed_key;
    if (compares_tuplize_) return tuplize_.compare(a.node, b.node) == Order::Less;
    UOp x = list_.nodes[a.node], y = list_.nodes[b.node];
    return x.in({Op::DEFINE_GLOBAL, Op::DEFINE_VAR}) && py_compare(x.arg(), y.arg()) == Order::Less;
  }

  const NodeList& list_;
  NodeKinds kinds_;
  TuplizeOrder tuplize_;
  bool compares_tuplize_;
  bool has_many_runs_ = false;
};

// A set of numbers below n as a hierarchical bit set: a bit of an upper level is set if the 64-bit word below this bit
// is not zero.
class RankSet {
 public:
  explicit RankSet(size_t n) {
    do {
      n = (n + 63) / 64;
      levels_.emplace_back(n);
    } while (n > 1);
  }
  void insert(uint32_t x) {
    for (auto& level : levels_) {
      level[x / 64] |= uint64_t(1) << x % 64;
      x /= 64;
    }
  }
  uint32_t take_greatest() {  // the set must not be empty
    uint32_t x = 0;
    for (size_t k = levels_.size(); k-- > 0;) x = x * 64 + 63 - uint32_t(std::countl_zero(levels_[k][x]));
    uint32_t rest = x;
    for (auto& level : levels_) {
      if (level[rest / 64] &= ~(uint64_t(1) << rest % 64)) break;
      rest /= 64;
    }
    return x;
  }

 private:
  std::vector<std::vector<uint64_t>> levels_;
};

}  // namespace

std::vector<UOp> linearize(UOp sink) {
  NodeList list(sink);
  SortKeyOrder order(list, sink.graph().settings().TUPLE_ORDER != 0);
  std::vector<SortKey> keys = order.keys();
  py_sort(keys, [&](const SortKey& a, const SortKey& b) { return order.is_less(a, b); });
  std::vector<uint32_t> rank(list.size());
  for (uint32_t i = 0; i < keys.size(); i++) rank[keys[i].node] = i;
  std::vector<uint32_t> users(list.size());  // for each node, the number of users that are not emitted yet
  for (uint32_t s : list.src) users[s]++;

  // emit nodes backwards from the sink: among the nodes whose users are all emitted, choose the one with the greatest
  // rank
  RankSet ready(list.size());
  ready.insert(rank[list.size() - 1]);
  std::vector<UOp> out(list.size());
  for (size_t place = list.size(); place-- > 0;) {
    if (place % (1 << 14) == 0) throw_if_late();
    uint32_t u = keys[ready.take_greatest()].node;
    out[place] = list.nodes[u];
    for (uint32_t s : list.sources(u))
      if (--users[s] == 0) ready.insert(rank[s]);
  }
  return out;
}

std::string linearize_listing(std::span<const UOp> list) {
  std::string out;
  for (size_t i = 0; i < list.size(); i++) {
    UOp u = list[i];
    char head[64];
    std::snprintf(head, sizeof head, "%4zu %-20s ", i, ("Ops." + std::string(name_of(u.op()))).c_str());
    bool parameter = u.in({Op::DEFINE_GLOBAL, Op::DEFINE_VAR});
    out += head + multirange_str(u.ranges(), true, 10) + " (" + run_count_of(u).str() + ", " +
           std::to_string(priority_of(u.op())) + ", " + (parameter ? u.arg().repr() : "None") + ")\n";
  }
  return out;
}

namespace {

UOp gate_of(UOp u) {
  if (!u.is(Op::STORE) || u.num_src() < 2) return {};
  UOp index = u.src(0).is(Op::CAST) ? u.src(0).src(0) : u.src(0);
  if (!index.is(Op::INDEX) || index.num_src() != 3 || !dtypes::is_bool(index.src(2).dtype())) return {};
  return index.src(2);
}

}  // namespace

std::vector<UOp> wrap_gated_stores(const std::vector<UOp>& list) {
  std::vector<UOp> out;
  out.reserve(list.size() + 16);
  for (UOp u : list) {
    if (u.in({Op::IF, Op::ENDIF})) throw Failure("an " + std::string(name_of(u.op())) + " is not allowed in the graph");
    UOp gate = gate_of(u);
    if (!gate) {
      out.push_back(u);
      continue;
    }
    UOp if_ = u.graph().node(Op::IF, dtypes::void_, {gate, u.src(0)});
    out.insert(out.end(), {if_, u, u.graph().node(Op::ENDIF, dtypes::void_, if_)});
  }
  return out;
}

Result<std::vector<UOp>> make_linear_list(KernelJob& job, UOp sink) {
  return catch_failures([&] {
    auto list = wrap_gated_stores(linearize(sink));
    if (job.settings().SPEC < 1) return list;
    if (auto violation = verify(list, Spec::Program))
      throw Failure("the linear list is not well formed: " + violation->text());
    return list;
  });
}

}  // namespace tgc
