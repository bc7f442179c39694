#include "passes/kernel/control_flow.h"

#include <algorithm>
#include <memory>

#include "lib/rewrite/rewrite.h"

namespace tgc {

using namespace pat;

namespace {

// The RANGEs and ENDs below a node, in the order in which tinygrad's dict of them fills.
using Deps = std::vector<UOp>;

bool contains(const Deps& deps, UOp u) { return std::find(deps.begin(), deps.end(), u) != deps.end(); }

// The dependencies of every node. Most nodes depend on what one of their sources depends on, and share its list.
class DepsOfNodes {
 public:
  explicit DepsOfNodes(Graph& graph) : graph_(graph), of_(graph) {}

  const Deps& of(UOp u) const { return **of_.find(u); }

  // Computes those of `u`, whose sources are done; they hold `u` itself only after `add_itself`.
  void compute(UOp u) { of_[u] = merge(u); }
  void add_itself(UOp u) {
    Deps deps = of(u);
    deps.push_back(u);
    of_[u] = own(std::move(deps));
  }

 private:
  // The union of the lists of the sources, in their order.
  const Deps* merge(UOp u) {
    const Deps* first = &empty_;
    size_t i = 0;
    while (i < u.num_src() && first->empty()) first = &of(u.src(i++));
    const Deps* last = first;
    std::vector<const Deps*> others;
    for (; i < u.num_src(); i++)
      if (const Deps* other = &of(u.src(i)); other != last && other != first && !other->empty()) others.push_back(last = other);
    if (others.empty()) return first;

    UOpSet seen(graph_);
    for (UOp x : *first) seen.insert(x);
    Deps added;
    for (const Deps* other : others)
      for (UOp x : *other)
        if (seen.insert(x)) added.push_back(x);
    if (added.empty()) return first;
    added.insert(added.begin(), first->begin(), first->end());
    return own(std::move(added));
  }

  const Deps* own(Deps deps) {
    owned_.push_back(std::make_unique<Deps>(std::move(deps)));
    return owned_.back().get();
  }

  Graph& graph_;
  UOpMap<const Deps*> of_;
  Deps empty_;
  std::vector<std::unique_ptr<Deps>> owned_;
};

// The loops that lie directly in `parent`, an END or the SINK.
struct Siblings {
  UOp parent;
  std::vector<UOp> ends;
};

// Which ENDs nest in which. An END x lies in the END u when u waits for x and x's loop runs inside u's range; what no END holds lies in
// the SINK.
std::vector<Siblings> find_nesting(UOp sink, DepsOfNodes& deps) {
  std::vector<Siblings> out;
  UOpSet nested(sink.graph());
  for (UOp u : toposort(sink)) {
    deps.compute(u);
    if (u.in({Op::END, Op::SINK})) {
      Siblings here{u, {}};
      for (UOp x : deps.of(u))
        if (x.is(Op::END) && (u.is(Op::SINK) || contains(deps.of(x), u.src(1))) && nested.insert(x)) here.ends.push_back(x);
      if (!here.ends.empty()) out.push_back(std::move(here));
    }
    if (u.in({Op::RANGE, Op::END})) deps.add_itself(u);
  }
  return out;
}

}  // namespace

CfgContext::CfgContext(UOp sink) : edges_(sink.graph()) {
  DepsOfNodes deps(sink.graph());
  for (Siblings& s : find_nesting(sink, deps)) {
    // a loop that needs others of its level comes after them
    std::vector<std::pair<size_t, UOp>> order;
    for (UOp x : s.ends)
      order.emplace_back(std::count_if(s.ends.begin(), s.ends.end(), [&](UOp other) { return contains(deps.of(x), other); }), x);
    std::stable_sort(order.begin(), order.end(), [](auto& a, auto& b) { return a.first < b.first; });

    UOp before = s.parent.is(Op::SINK) ? UOp() : s.parent.src(1);
    for (auto& [count, end] : order) {
      if (before) {
        UOp range = end.src(1);
        if (in_backward_slice_with_self(before, range))
          throw Failure("a loop would have to run both before and after another:\n" + describe(range, 2) + "\n" + describe(before, 2));
        edges_[range] = before;
        empty_ = false;
      }
      before = end;
    }
  }
}

const RuleSet& add_control_flow_rules() {
  static const RuleSet set("add control flow", {
      // RANGE(x...) -> RANGE(x..., before)
      rule("range-waits", node(Op::RANGE).as(x), with_ctx<const CfgContext>(x, [](const CfgContext& ctx, UOp x) {
             UOp before = ctx.waits_for(x);
             if (!before) return UOp();
             std::vector<UOp> src(x.src().begin(), x.src().end());
             src.push_back(before);
             return x.with_src(src);
           })),
  });
  return set;
}

UOp add_control_flow(UOp sink) {
  CfgContext ctx(sink);
  if (ctx.empty()) return sink;
  return graph_rewrite(sink, add_control_flow_rules(), {.ctx = ctx, .bottom_up = true, .name = "add control flow"});
}

}  // namespace tgc
