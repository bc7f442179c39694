#include "passes/kernel/stages.h"

#include <algorithm>
#include <memory>
#include <unordered_map>

#include "lib/rewrite/rewrite.h"
#include "lib/rewrite/shortcut.h"
#include "lib/support/pysort.h"
#include "lib/uop/facts.h"

namespace tgc {

using namespace pat;

namespace {

// The RANGEs and ENDs that a node depends on, in the order of tinygrad's dict of dependencies.
using LoopDependencies = std::vector<UOp>;

bool contains(const LoopDependencies& deps, UOp u) { return std::find(deps.begin(), deps.end(), u) != deps.end(); }

// Most nodes have the same LoopDependencies as one of their sources, so each node has the number of a list that several
// nodes may share.
class LoopDependencyTable {
 public:
  explicit LoopDependencyTable(UOp sink)
      : list_of_node_(std::make_unique_for_overwrite<uint32_t[]>(sink.id() + 1)), dependency_lists_(1) {}

  const LoopDependencies& dependencies_of(UOp u) const { return dependency_lists_[list_of_node_[u.id()]]; }

  void compute_dependencies(UOp u) {
    if (u.num_src() > kFewSources) {
      list_of_node_[u.id()] = unite_lists(u.src());
      return;
    }
    uint32_t list = kEmptyList;
    for (UOp s : u.src())
      if (uint32_t other = list_of_node_[s.id()]; other != list && other != kEmptyList)
        list = list == kEmptyList ? other : unite_lists(list, other);
    list_of_node_[u.id()] = list;
  }
  void add_self_dependency(UOp u) {
    LoopDependencies deps = dependencies_of(u);
    deps.push_back(u);
    list_of_node_[u.id()] = add_list(std::move(deps));
  }

 private:
  static constexpr uint32_t kEmptyList = 0;
  static constexpr size_t kFewSources = 8;  // for nodes with more sources, uniting lists two by two is quadratic

  uint32_t unite_lists(std::span<const UOp> sources) {
    UOpSet seen(sources[0].graph());
    LoopDependencies all;
    uint32_t first = kEmptyList, last = kEmptyList;
    for (UOp s : sources) {
      const uint32_t list = list_of_node_[s.id()];
      if (list == last || list == kEmptyList) continue;
      if (first == kEmptyList) first = list;
      last = list;
      for (UOp x : dependency_lists_[list])
        if (seen.insert(x)) all.push_back(x);
    }
    return all.size() == dependency_lists_[first].size() ? first : add_list(std::move(all));
  }

  uint32_t unite_lists(uint32_t a, uint32_t b) {
    auto [known, is_new] = united_list_cache_.try_emplace(uint64_t(a) << 32 | b, a);
    if (!is_new) return known->second;
    UOpSet seen(dependency_lists_[a].front().graph());
    for (UOp x : dependency_lists_[a]) seen.insert(x);
    LoopDependencies both = dependency_lists_[a];
    for (UOp x : dependency_lists_[b])
      if (seen.insert(x)) both.push_back(x);
    if (both.size() > dependency_lists_[a].size()) known->second = add_list(std::move(both));
    return known->second;
  }

  uint32_t add_list(LoopDependencies deps) {
    dependency_lists_.push_back(std::move(deps));
    return uint32_t(dependency_lists_.size() - 1);
  }

  std::unique_ptr<uint32_t[]> list_of_node_;
  std::vector<LoopDependencies> dependency_lists_;
  std::unordered_map<uint64_t, uint32_t> united_list_cache_;
};

UOp ended_range(UOp end) {
  if (end.num_src() < 2) throw Failure("an END has no range:\n" + describe(end, 2));
  return end.src(1);
}

// The ENDs of the loops directly inside `parent`, an END or the SINK.
struct SiblingEnds {
  UOp parent;
  std::vector<UOp> ends;
};

// Finds the nesting of loops. An END x nests in the END u if u depends on x and x depends on the RANGE of u. An END
// that nests in no other END nests in the SINK.
std::vector<SiblingEnds> find_nesting(UOp sink, LoopDependencyTable& deps) {
  std::vector<SiblingEnds> out;
  UOpSet nested(sink.graph());
  for (UOp u : cached_toposort(sink)) {
    deps.compute_dependencies(u);
    if (u.in({Op::END, Op::SINK})) {
      SiblingEnds here{u, {}};
      for (UOp x : deps.dependencies_of(u))
        if (x.is(Op::END) && !nested.contains(x) &&
            (u.is(Op::SINK) || contains(deps.dependencies_of(x), ended_range(u))))
          here.ends.push_back(x);
      for (UOp x : here.ends) nested.insert(x);
      if (!here.ends.empty()) out.push_back(std::move(here));
    }
    if (u.in({Op::RANGE, Op::END})) deps.add_self_dependency(u);
  }
  return out;
}

using OrderedEnds = std::vector<std::pair<size_t, UOp>>;

// Throws Failure if two sibling ENDs end the same RANGE, which would then have to come after itself.
void throw_if_ended_twice(const OrderedEnds& ends) {
  if (ends.size() < 2) return;
  UOpSet ended(ends[0].second.graph());
  for (const auto& [_, end] : ends) {
    if (ended.insert(ended_range(end))) continue;
    auto first =
        std::find_if(ends.begin(), ends.end(), [&](auto& e) { return ended_range(e.second) == ended_range(end); });
    throw Failure("two ENDs end the same loop, which would have to run both before and after itself:\n" +
                  describe(ended_range(end), 2) + "\n" + describe(first->second, 2) + "\n" + describe(end, 2));
  }
}

}  // namespace

UOp CfgContext::predecessor_of(UOp range) const {
  auto after = std::ranges::upper_bound(control_edges_, range.id(), {}, [](auto& edge) { return edge.first.id(); });
  return after != control_edges_.begin() && std::prev(after)->first == range ? std::prev(after)->second : UOp();
}

CfgContext::CfgContext(UOp sink) {
  if (!sink.graph().ops().contains(Op::END)) return;
  LoopDependencyTable deps(sink);
  for (SiblingEnds& s : find_nesting(sink, deps)) {
    // sort the siblings by the number of siblings that they depend on
    OrderedEnds order;
    UOpSet siblings(sink.graph());
    for (UOp x : s.ends) siblings.insert(x);
    for (UOp x : s.ends)
      order.emplace_back(
          std::ranges::count_if(deps.dependencies_of(x), [&](UOp other) { return siblings.contains(other); }), x);
    std::stable_sort(order.begin(), order.end(), [](auto& a, auto& b) { return a.first < b.first; });

    throw_if_ended_twice(order);
    UOp before = s.parent.is(Op::SINK) ? UOp() : ended_range(s.parent);
    for (auto& [count, end] : order) {
      if (before) {
        UOp range = ended_range(end);
        if (in_backward_slice_with_self(before, range))
          throw Failure("a loop would have to run both before and after another:\n" + describe(range, 2) + "\n" +
                        describe(before, 2));
        control_edges_.emplace_back(range, before);
      }
      before = end;
    }
  }
  std::ranges::stable_sort(control_edges_, {}, [](auto& edge) { return edge.first.id(); });
}

namespace {
UOp with_predecessor(UOp range, UOp before) {
  std::vector<UOp> src(range.src().begin(), range.src().end());
  src.push_back(before);
  return range.with_src(src);
}
}  // namespace

const RuleSet& add_control_flow_rules() {
  static const RuleSet set("add control flow", {
      rule("range-waits", node(Op::RANGE).as(x), with_ctx<const CfgContext>(x, [](const CfgContext& ctx, UOp x) {
             UOp before = ctx.predecessor_of(x);
             return before ? with_predecessor(x, before) : UOp();
           })),
  });
  return set;
}

namespace {

const Shortcut kControlFlow("control-flow-in-one-walk",
                            "a general rewrite of a graph where only RANGEs and their users change");

// Applies add_control_flow_rules() to a whole graph in one walk. Records the toposort of the result if every changed
// node is new. Returns nullopt if the stack of nodes becomes too large, as it does if loops form a cycle.
std::optional<UOp> add_control_flow_directly(UOp sink, const CfgContext& ctx) {
  struct Frame {
    UOp node;
    uint32_t next_source;
  };
  Graph& graph = sink.graph();
  const size_t num_below = sink.id() + 1;  // at least the number of nodes, because sources have smaller ids
  const size_t limit = std::min(num_below, size_t(graph.settings().REWRITE_STACK_LIMIT));
  std::vector<UOp> result(num_below), order, sources;  // result: for each id of an old node, the new node
  std::vector<Frame> stack;
  order.reserve(cached_toposort(sink).size());
  bool all_new = true;

  auto source = [&](UOp u, uint32_t i) {
    return i < u.num_src() ? u.src(i) : u.is(Op::RANGE) && i == u.num_src() ? ctx.predecessor_of(u) : UOp();
  };
  stack.push_back({sink, 0});
  while (!stack.empty()) {
    auto& [u, next] = stack.back();
    UOp s = source(u, next);
    if (s) {
      next++;
      if (!result[s.id()]) stack.push_back({s, 0});
      if (stack.size() > limit) return std::nullopt;
      continue;
    }
    sources.clear();
    bool changed = next > u.num_src();
    for (uint32_t i = 0; i < next; i++) {
      UOp below = source(u, i);
      sources.push_back(result[below.id()]);
      changed |= !(sources.back() == below);
    }
    UOp out = u;
    if (changed) {
      const size_t size = graph.size();
      out = graph.node(u.op(), u.dtype(), sources, u.arg(), u.tag());
      all_new &= graph.size() > size;
    }
    result[u.id()] = out;
    order.push_back(out);
    stack.pop_back();
  }
  UOp out = result[sink.id()];
  if (all_new) cache_toposort(out, std::move(order));
  return out;
}

}  // namespace

UOp add_control_flow(UOp sink) {
  CfgContext ctx(sink);
  if (ctx.control_edges().empty()) return sink;
  return run_shortcut(kControlFlow, sink.graph(), [&] { return add_control_flow_directly(sink, ctx); }, [&] {
    return graph_rewrite(sink, add_control_flow_rules(), {.ctx = ctx, .bottom_up = true, .name = "add control flow"});
  });
}

using namespace pat;

namespace {

UOp split_ends(UOp e) {
  auto ranges_below = ranges_of(e.graph().sink(e.src().subspan(1)));
  std::vector<UOp> ranges(ranges_below.begin(), ranges_below.end());
  // sort in descending order, but keep the order of equal elements, as Python's sorted(reverse=True) does
  std::reverse(ranges.begin(), ranges.end());
  py_sort(ranges, [](UOp a, UOp b) { return py_compare(a.arg(), b.arg()) == Order::Less; });
  std::reverse(ranges.begin(), ranges.end());
  UOp out = e.src(0);
  for (UOp r : ranges) out = out.end(r);
  return out;
}

}  // namespace

const RuleSet& pm_split_ends() {
  static const RuleSet set("pm_split_ends", {
      rule("split-ends", node(Op::END).as(e), with<split_ends>(e)),
  });
  return set;
}

}  // namespace tgc
