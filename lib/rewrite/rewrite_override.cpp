#include "lib/rewrite/rewrite_override.h"

#include <utility>

#include "lib/rewrite/workspace.h"

namespace tgc {

void set_rewrite_override(Graph& graph, RewriteOverride* new_override) {
  graph.extension<RewriteState>().rewrite_override = new_override;
}
RewriteOverride* rewrite_override_of(Graph& graph) { return graph.extension<RewriteState>().rewrite_override; }

UninstrumentedScope::UninstrumentedScope(Graph& graph) : graph_(graph) {
  auto& state = graph.extension<RewriteState>();
  observer_ = std::exchange(state.observer, nullptr);
  rewrite_override_ = std::exchange(state.rewrite_override, nullptr);
  was_uninstrumented_ = std::exchange(state.is_uninstrumented, true);
}
UninstrumentedScope::~UninstrumentedScope() {
  auto& state = graph_.extension<RewriteState>();
  state.observer = observer_, state.rewrite_override = rewrite_override_, state.is_uninstrumented = was_uninstrumented_;
}

const SubstituteContext* substitution_of(Graph& graph) {
  const ContextRef& ctx = graph.extension<RewriteState>().observed_context;
  bool is_substitution =
      ctx.type() == type_key<SubstituteContext>() || ctx.type() == type_key<const SubstituteContext>();
  return is_substitution ? static_cast<const SubstituteContext*>(ctx.ptr()) : nullptr;
}

}  // namespace tgc
