#include "lib/trace/trace.h"

#include "lib/rewrite/rewrite_override.h"

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

UOp apply_rewrites(UOp input, bool bottom_up, std::span<const std::pair<UOp, UOp>> rewrites,
                   std::span<const UOp> gates) {
  Graph& graph = input.graph();
  UninstrumentedScope own(graph);
  ReplayContext ctx(graph);
  for (auto [before, after] : rewrites) ctx.to[before] = after;
  for (UOp u : gates) ctx.gates.insert(u);
  return graph_rewrite(input, replay_rules(), {.ctx = ctx, .bottom_up = bottom_up, .name = "replay"});
}

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
  (apply_rewrites(p.input, p.bottom_up, p.rewrites, p.gates) == result ? same_ : different_)++;
}

std::string TraceReplay::text() const {
  return std::to_string(same_ + different_) + " graph rewrites replayed from their lists of rewrites, " +
         std::to_string(same_) + " give the same graph\n";
}

}  // namespace tgc
