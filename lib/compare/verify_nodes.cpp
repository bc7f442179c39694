#include "lib/compare/verify_nodes.h"

#include <algorithm>

#include "lib/spec/loops.h"
#include "lib/uop/wellformed.h"

namespace tgc {

Spec fitting_spec(bool is_list, bool is_tensor_graph, std::string_view stage) {
  if (is_list) return Spec::Program;
  return is_tensor_graph ? Spec::Tensor : spec_after(stage);
}

std::optional<InvalidNode> first_invalid(std::span<const UOp> nodes, Spec spec, bool is_list) {
  auto violation = verify(nodes, spec);
  auto malformed = violation ? std::nullopt : first_malformed(nodes);
  if (!violation && !malformed && is_list) malformed = first_out_of_order(nodes);
  if (!violation && !malformed) violation = verify_loops(nodes);
  if (violation) return InvalidNode{violation->node, violation->position, violation->rule, violation->text()};
  if (!malformed) return std::nullopt;
  size_t position = size_t(std::find(nodes.begin(), nodes.end(), malformed->node) - nodes.begin());
  const std::string where = "node " + std::to_string(position) + ": ";
  return InvalidNode{malformed->node, position, nullptr, where + malformed->trouble};
}

}  // namespace tgc
