#include "lib/rewrite/intervention.h"

#include "lib/rewrite/workspace.h"

namespace tgc {

void set_intervention(Graph& graph, Intervention* intervention) {
  graph.extension<RewriteState>().intervention = intervention;
}
Intervention* intervention_of(Graph& graph) { return graph.extension<RewriteState>().intervention; }

const SubstituteContext* substitution_of(Graph& graph) {
  const ContextRef& ctx = graph.extension<RewriteState>().observed;
  bool is_substitution =
      ctx.type() == type_key<SubstituteContext>() || ctx.type() == type_key<const SubstituteContext>();
  return is_substitution ? static_cast<const SubstituteContext*>(ctx.ptr()) : nullptr;
}

}  // namespace tgc
