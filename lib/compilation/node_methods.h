// The Tensor methods of the user's program that made the nodes of a recorded graph.
#pragma once
#include <cstdint>
#include <vector>

#include "lib/compilation/input_graph.h"
#include "lib/records/golden.h"

namespace tgc {

class NodeMethods {
 public:
  NodeMethods(const InputGraph& in, std::vector<GoldenMetadata> methods);

  std::vector<size_t> method_indices(UOp u) const;
  const GoldenMetadata& operator[](size_t i) const { return tensor_methods_[i]; }

 private:
  const InputGraph& input_;
  std::vector<GoldenMetadata> tensor_methods_;
  std::vector<size_t> line_ends_;
};

}  // namespace tgc
