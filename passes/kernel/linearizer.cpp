#include "passes/kernel/linearizer.h"

#include <algorithm>

#include "lib/support/pysort.h"
#include "lib/uop/facts.h"
#include "lib/uop/graph.h"
#include "passes/pipeline.h"

namespace tgc {
namespace {

// Where a kind of node is placed: the smaller, the closer to the top.
int priority_of(Op op) {
  switch (op) {
    case Op::DEFINE_GLOBAL: return -20;  // parameters first, in the order of their numbers
    case Op::DEFINE_VAR: return -19;
    case Op::DEFINE_LOCAL: return -18;
    case Op::DEFINE_REG: return -17;
    case Op::CONST: return -10;
    case Op::END: return -5;   // closing a loop keeps other things out of it
    case Op::LOAD: return -1;  // loads early, to hide their latency
    case Op::STORE: return 1;
    case Op::RANGE: return 5;  // opening a loop late keeps other things out of it
    default: return 0;
  }
}

// What is compared first, packed into one number: how often the node runs, its priority, and its op, which heads tuplize. (The op of
// parameters stands before their arg here, behind it in tinygrad: parameters of one priority are of one op.)
struct Key {
  uint64_t head;
  UOp node;
};
constexpr uint64_t kManyRuns = (uint64_t(1) << 48) - 1;  // a run count that does not fit, or is negative: compared in full

Int run_count_of(std::span<const UOp> ranges) {
  Int count = 1;
  for (UOp r : ranges) count *= r.vmax().to_int() + Int(1);
  return count;
}

class KeyOrder {
 public:
  explicit KeyOrder(bool tuple_order) : tuple_order_(tuple_order) {}

  std::vector<Key> keys_of(const std::vector<UOp>& nodes) const {
    std::vector<Key> keys;
    keys.reserve(nodes.size());
    std::span<const UOp> last_ranges;
    uint64_t runs = 1;
    for (UOp u : nodes) {
      auto ranges = ranges_of(u);
      if (ranges.data() != last_ranges.data() || ranges.size() != last_ranges.size()) {  // neighbours mostly share theirs
        last_ranges = ranges;
        Int count = run_count_of(ranges);
        runs = count.sign() >= 0 && count < Int(int64_t(kManyRuns)) ? uint64_t(count.small()) : kManyRuns;
      }
      keys.push_back({runs << 16 | uint64_t(priority_of(u.op()) + 128) << 8 | (tuple_order_ ? uint64_t(u.op()) : 0), u});
    }
    return keys;
  }

  // Python's < of (run_count, priority, extra) + tuplize, where extra is the arg of parameters.
  bool operator()(const Key& a, const Key& b) const {
    if (a.head >> 16 == kManyRuns || b.head >> 16 == kManyRuns) {
      Int x = run_count_of(ranges_of(a.node)), y = run_count_of(ranges_of(b.node));
      if (x != y) return x < y;
    }
    if (a.head != b.head) return a.head < b.head;
    if (tuple_order_) return tuplize_less(a.node, b.node);
    return a.node.in({Op::DEFINE_GLOBAL, Op::DEFINE_VAR}) && py_compare(a.node.arg(), b.node.arg()) == Order::Less;
  }

 private:
  bool tuple_order_;
};

}  // namespace

std::vector<UOp> linearize(UOp sink) {
  Graph& graph = sink.graph();
  std::vector<UOp> nodes = toposort(sink);
  struct State {
    uint32_t rank;   // in the ideal order
    uint32_t users;  // that are not placed yet
  };
  UOpMap<State> states(graph);
  KeyOrder order(graph.settings().TUPLE_ORDER != 0);
  std::vector<Key> keys = order.keys_of(nodes);
  py_sort(keys, order);
  for (size_t i = 0; i < keys.size(); i++) states[keys[i].node] = {uint32_t(i), 0};
  for (UOp u : nodes)
    for (UOp s : u.src()) states.find(s)->users++;

  // from the sink backwards, always the last of the ideal order whose users are all placed
  std::vector<uint32_t> heap{states.find(sink)->rank};
  std::vector<UOp> list;
  list.reserve(nodes.size());
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end());
    UOp u = keys[heap.back()].node;
    heap.pop_back();
    list.push_back(u);
    for (UOp s : u.src()) {
      State& state = *states.find(s);
      if (--state.users) continue;
      heap.push_back(state.rank);
      std::push_heap(heap.begin(), heap.end());
    }
  }
  std::reverse(list.begin(), list.end());
  return list;
}

namespace {

// The bool that a store hangs on, else the empty UOp.
UOp gate_of(UOp u) {
  if (!u.is(Op::STORE) || u.num_src() < 2) return {};
  UOp index = u.src(0).is(Op::CAST) ? u.src(0).src(0) : u.src(0);
  if (!index.is(Op::INDEX) || index.num_src() != 3 || !dtypes::is_bool(index.src(2).dtype())) return {};
  return index.src(2);
}

}  // namespace

std::vector<UOp> wrap_gated_stores(const std::vector<UOp>& list) {
  if (list.empty()) return list;
  Graph& graph = list.front().graph();
  UOpMap<UOp> replaced(graph);
  std::vector<UOp> out, src;
  out.reserve(list.size() + 16);
  for (UOp old : list) {
    if (old.in({Op::IF, Op::ENDIF})) throw Failure("an " + std::string(name_of(old.op())) + " is not allowed in the graph");
    src.clear();
    for (UOp s : old.src()) {
      const UOp* now = replaced.find(s);
      src.push_back(now ? *now : s);
    }
    UOp u = old.with_src(src);
    if (!(u == old)) replaced[old] = u;
    UOp gate = gate_of(u);
    if (!gate) {
      out.push_back(u);
      continue;
    }
    UOp if_ = graph.node(Op::IF, dtypes::void_, {gate, u.src(0)});
    out.insert(out.end(), {if_, u, graph.node(Op::ENDIF, dtypes::void_, if_)});
  }
  return out;
}

Result<std::vector<UOp>> linear_list(KernelJob& job, UOp sink) {
  (void)job;
  return catch_failures([&] { return wrap_gated_stores(linearize(sink)); });
}

}  // namespace tgc
