#include "lib/inspect/trace.h"

namespace tgc {
namespace {

struct ReplayContext {
  explicit ReplayContext(Graph& graph) : to(graph), gates(graph) {}
  UOpMap<UOp> to;
  UOpSet gates;
};

const RuleSet& replay_rules() {
  using namespace pat;
  static const RuleSet set("replay", {
      rule("replay", node(OpSet::all()).as(x), with_ctx<ReplayContext>(x, [](ReplayContext& ctx, UOp x) {
             if (UOp* to = ctx.to.find(x)) return *to;
             return ctx.gates.contains(x) ? bottom_up_gate() : UOp();
           })),
  });
  return set;
}

}  // namespace

void TraceReplay::begin(const TraceRewrite& rewrite, int depth, UOp input) {
  pending_.resize(size_t(depth));
  pending_.push_back({input, rewrite.bottom_up, {}, {}});
}

void TraceReplay::rewrite(int depth, const TraceRule&, UOp before, UOp after, TraceCost) {
  pending_[size_t(depth)].rewrites.emplace_back(before, after);
}

void TraceReplay::gated(int depth, UOp node) { pending_[size_t(depth)].gates.push_back(node); }

void TraceReplay::end(int depth, UOp result) {
  Pending p = std::move(pending_[size_t(depth)]);
  pending_.resize(size_t(depth));
  if (!result) return;
  Graph& graph = result.graph();
  RewriteObserver* watching = observer_of(graph);
  set_observer(graph, nullptr);
  ReplayContext ctx(graph);
  for (auto [before, after] : p.rewrites) ctx.to[before] = after;
  for (UOp u : p.gates) ctx.gates.insert(u);
  UOp replayed = graph_rewrite(p.input, replay_rules(), {.ctx = ctx, .bottom_up = p.bottom_up, .name = "replay"});
  (replayed == result ? same_ : different_)++;
  set_observer(graph, watching);
}

}  // namespace tgc
