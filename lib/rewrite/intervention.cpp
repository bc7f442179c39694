#include "lib/rewrite/intervention.h"

#include <utility>

#include "lib/rewrite/workspace.h"

namespace tgc {

void set_intervention(Graph& graph, Intervention* intervention) {
  graph.extension<RewriteState>().intervention = intervention;
}
Intervention* intervention_of(Graph& graph) { return graph.extension<RewriteState>().intervention; }

UninstrumentedScope::UninstrumentedScope(Graph& graph) : graph_(graph) {
  auto& state = graph.extension<RewriteState>();
  observer_ = std::exchange(state.observer, nullptr);
  intervention_ = std::exchange(state.intervention, nullptr);
  was_own_ = std::exchange(state.is_own, true);
}
UninstrumentedScope::~UninstrumentedScope() {
  auto& state = graph_.extension<RewriteState>();
  state.observer = observer_, state.intervention = intervention_, state.is_own = was_own_;
}

const SubstituteContext* substitution_of(Graph& graph) {
  const ContextRef& ctx = graph.extension<RewriteState>().observed;
  bool is_substitution =
      ctx.type() == type_key<SubstituteContext>() || ctx.type() == type_key<const SubstituteContext>();
  return is_substitution ? static_cast<const SubstituteContext*>(ctx.ptr()) : nullptr;
}

}  // namespace tgc
