#include "lib/compilation/node_methods.h"

#include <algorithm>
#include <utility>

#include "lib/text/source_position.h"

namespace tgc {

NodeMethods::NodeMethods(const InputGraph& in, std::vector<GoldenMetadata> methods)
    : input_(in), tensor_methods_(std::move(methods)) {
  for (size_t at = 0; (at = in.text.find('\n', at)) != in.text.npos; at++) line_ends_.push_back(at);
}

std::vector<size_t> NodeMethods::method_indices(UOp u) const {
  // each line of the recorded JSON after its header is a node
  const size_t at = offset_of_node(input_.read_report.places, u.id());
  const int64_t number = std::ranges::lower_bound(line_ends_, at) - line_ends_.begin() - 1;
  std::vector<size_t> out;
  for (size_t i = 0; i < tensor_methods_.size(); i++)
    if (std::ranges::count(tensor_methods_[i].node_numbers, number)) out.push_back(i);
  return out;
}

}  // namespace tgc
