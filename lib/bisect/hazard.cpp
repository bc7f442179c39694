#include "lib/validate/hazard.h"

#include "lib/bisect/strategies.h"

namespace tgc {

std::optional<Verdict> find_hazard_between_iterations(const FailureRepro& repro, BisectExecutor&) {
  if (!repro.linear_list.empty()) return std::nullopt;
  auto hazard = find_hazard(repro.input_graph.root, repro.options.input.variables);
  if (!hazard) return std::nullopt;
  return Verdict{Verdict::Kind::Hazard, hazard->text() + ". The scheduler made a kernel of them, or the graph says so"};
}

}  // namespace tgc
