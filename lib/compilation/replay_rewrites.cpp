#include "lib/compilation/replay_rewrites.h"

#include "lib/rewrite/rewrite.h"
#include "lib/rewrite/rewrite_override.h"

namespace tgc {
namespace {

struct ReplayContext {
  explicit ReplayContext(Graph& graph) : replacement(graph), gates(graph) {}
  UOpMap<UOp> replacement;
  UOpSet gates;
};

const RuleSet& replay_rules() {
  using namespace pat;
  static const RuleSet set("replay", {
      rule("replay", node(OpSet::all()).as(x), with_ctx<ReplayContext>(x, [](ReplayContext& ctx, UOp x) {
             if (UOp* replacement = ctx.replacement.find(x)) return *replacement;
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
  for (auto [before, after] : rewrites) ctx.replacement[before] = after;
  for (UOp u : gates) ctx.gates.insert(u);
  return graph_rewrite(input, replay_rules(), {.ctx = ctx, .bottom_up = bottom_up, .name = "replay"});
}

}  // namespace tgc
