#include "lib/rewrite/intervention.h"

#include "lib/rewrite/workspace.h"

namespace tgc {

void set_intervention(Graph& graph, Intervention* intervention) {
  graph.extension<RewriteState>().intervention = intervention;
}
Intervention* intervention_of(Graph& graph) { return graph.extension<RewriteState>().intervention; }

}  // namespace tgc
